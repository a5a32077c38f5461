"""Many runs on all cores: one process a core, each given the load once.

Runs share nothing, so their results do not depend on how many there are at a time.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.sharedctypes import Synchronized
from typing import Final, NamedTuple

from steelyard_simulator.load.mix import Mix
from steelyard_simulator.load.trace import Trace
from steelyard_simulator.replay.orphan import die_with_parent
from steelyard_simulator.replay.report import Report
from steelyard_simulator.replay.scenario import Scenario, run
from steelyard_simulator.replay.scheduler import NONE

TELL_EVERY: Final = 200
"""Requests; telling of each one would cost more than simulating it."""
LOOK_S: Final = 0.2


class Cell(NamedTuple):
    """One run of a comparison."""

    policy: str
    seed: int
    scheduler: str = NONE

    def play(self, load: Trace | Mix, scenario: Scenario, on_done: Callable[[], None]) -> Report:
        return run(
            load, scenario, self.policy, self.seed, scheduler=self.scheduler, on_done=on_done
        )


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def run_all(
    load: Trace | Mix,
    scenario: Scenario,
    cells: Sequence[Cell],
    *,
    jobs: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> list[Report]:
    """In the order of the cells. `on_progress` is told how many requests are done in all."""
    if min(jobs, len(cells)) <= 1:
        done = _Counted(on_progress)
        return [cell.play(load, scenario, done.one) for cell in cells]
    context = multiprocessing.get_context("spawn")
    done_anywhere = context.Value("Q", 0)
    with ProcessPoolExecutor(
        max_workers=min(jobs, len(cells)),
        mp_context=context,
        initializer=_Worker.start,
        initargs=(load, scenario, done_anywhere),
    ) as pool:
        futures = [pool.submit(_Worker.run, cell) for cell in cells]
        try:
            for _ in _until_done(futures):
                on_progress(int(done_anywhere.value))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _until_done(futures: Sequence[Future[Report]]) -> Iterator[None]:
    """Every now and then until all are; raises what one has raised."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=LOOK_S, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        yield


class _Counted:
    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._done = 0

    def one(self) -> None:
        self._done += 1
        if self._done % TELL_EVERY == 0:
            self._tell(self._done)


class _Worker:
    """What a process keeps between runs."""

    load: Trace | Mix
    scenario: Scenario
    done: "Synchronized[int]"

    @classmethod
    def start(cls, load: Trace | Mix, scenario: Scenario, done: "Synchronized[int]") -> None:
        die_with_parent()
        cls.load, cls.scenario, cls.done = load, scenario, done

    @classmethod
    def run(cls, cell: Cell) -> Report:
        counted = _Counted(lambda _: cls._add())
        return cell.play(cls.load, cls.scenario, counted.one)

    @classmethod
    def _add(cls) -> None:
        with cls.done.get_lock():
            cls.done.value += TELL_EVERY
