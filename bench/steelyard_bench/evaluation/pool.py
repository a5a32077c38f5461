"""Does tasks in processes of their own, two at most; results come in the order of their ends."""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Final

from steelyard_bench.evaluation.cell import Task
from steelyard_bench.evaluation.work import Record, perform
from steelyard_simulator.replay.orphan import die_with_parent

MOST_JOBS: Final = 2
"""More would need more memory than small machines have, and is not what the time budget is for."""


def perform_all(tasks: Sequence[Task], folder: Path, *, jobs: int) -> Iterator[tuple[Task, Record]]:
    """Raises SourceError."""
    if min(jobs, len(tasks)) <= 1:
        yield from ((task, perform(task, folder)) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        max_workers=min(jobs, MOST_JOBS), mp_context=context, initializer=die_with_parent
    ) as pool:
        futures = {pool.submit(perform, task, folder): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def effort(task: Task) -> float:
    """About how long it takes, in runs of `conversation`: for the bar's time left."""
    by_source = {"toolagent": 1.9, "azure-code": 0.25, "servegen": 0.5, "azure-conversation": 0.4}
    probes = 3.5 if task.search else 1.0
    return by_source.get(task.cell.source, 1.0) * probes
