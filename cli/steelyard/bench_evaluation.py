"""`steelyard bench evaluation`: every policy on every trace, and the page that shows it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from steelyard.parameter import FilePath, FolderPath, PositiveInt
from steelyard_bench.evaluation import grid
from steelyard_bench.evaluation.cell import Cell, Task
from steelyard_bench.evaluation.page import write_page
from steelyard_bench.evaluation.pool import effort, perform_all
from steelyard_bench.evaluation.source import SourceError
from steelyard_bench.evaluation.store import Store, StoreError, load
from steelyard_bench.wire.machine import machine
from steelyard_simulator.replay.parallel import cores

SAVE_S: Final = 20.0
"""What is done is written down this often."""


@click.command(name="evaluation")
@click.option(
    "--json",
    "json_path",
    type=FilePath,
    default=Path("build/evaluation.json"),
    show_default=True,
    help="What was measured; runs that are in it already are not repeated.",
)
@click.option(
    "--docs",
    type=FolderPath,
    default=Path("docs"),
    show_default=True,
    help="Gets evaluation.md and evaluation/*.svg.",
)
@click.option("--traces", type=FolderPath, default=Path("bench/traces"), show_default=True)
@click.option("--jobs", type=PositiveInt, help="Processes (one per core, two at most).")
@click.option("--seeds", type=PositiveInt, default=grid.SEEDS, help="At most so many a policy (5).")
@click.option("--only", multiple=True, help="Run only what has this in CELL/POLICY/SEED.")
@click.option("--quick", is_flag=True, help="One seed of three small cells: shows that it runs.")
@click.option("--no-run", is_flag=True, help="Write the page from the JSON that is there.")
def command(
    *,
    json_path: Path,
    docs: Path,
    traces: Path,
    jobs: int | None,
    seeds: int,
    only: tuple[str, ...],
    quick: bool,
    no_run: bool,
) -> None:
    """Simulate every policy on every trace and write the page: at most 25 minutes on two cores.

    Ctrl-C keeps what is done; the next call goes on from there.
    """
    cells = grid.quick() if quick else grid.full(seeds)
    try:
        if no_run:
            document = load(json_path)
        else:
            about = {"quick": quick, "seeds": 1 if quick else seeds, "machine": machine()}
            store = Store(json_path, traces, cells)
            document = _measure(cells, store, about, only=only, traces=traces, jobs=jobs or cores())
    except (SourceError, StoreError, ValueError) as exc:
        raise click.ClickException(str(exc)) from exc
    page = write_page(document, docs)
    click.echo(f"{len(document['runs'])} runs in {json_path}; the page is {page}")


def _measure(
    cells: Sequence[Cell],
    store: Store,
    about: Mapping[str, object],
    *,
    only: Sequence[str],
    traces: Path,
    jobs: int,
) -> dict[str, Any]:
    tasks = list(grid.tasks(cells))
    wanted = [task for task in tasks if not only or any(part in task.id for part in only)]
    todo = store.missing(wanted)
    saved = monotonic()
    try:
        with _progress(todo) as bars:
            for task, record in perform_all(todo, traces, jobs=jobs):
                store.put(task, record)
                bars.done(task)
                if monotonic() - saved > SAVE_S:
                    store.write(tasks, about)
                    saved = monotonic()
    finally:
        document = store.write(tasks, about)
    return document


class _Bars:
    """Runs that are done, and the time left by what they take."""

    def __init__(self, bars: Progress, bar: TaskID) -> None:
        self._bars = bars
        self._bar = bar

    def done(self, task: Task) -> None:
        self._bars.update(self._bar, advance=effort(task), description=task.id)


@contextmanager
def _progress(todo: Sequence[Task]) -> Iterator[_Bars]:
    columns = (
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    total = sum(map(effort, todo))
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=120) as bars:
        yield _Bars(bars, bars.add_task(f"{len(todo)} runs", total=total))
