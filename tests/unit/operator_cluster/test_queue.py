"""The work queue in virtual time: nothing is lost, nothing runs twice at once."""

import asyncio
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.virtual import in_virtual_time

from steelyard_operator.cluster.backoff import BASE_S, CAP_S, delay_s
from steelyard_operator.cluster.key import ObjectKey, service_key
from steelyard_operator.cluster.queue import RetryError, WorkQueue

A, B = service_key("ns", "a"), service_key("ns", "b")


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Log:
    """A queue's observer and, with `takes_s`, its handler; remembers every run."""

    takes_s: float = 0.0
    again_s: float | None = None
    fail: Callable[[int], bool] = lambda _: False
    runs: list[tuple[ObjectKey, float, float]] = field(default_factory=list)
    running: dict[ObjectKey, int] = field(default_factory=dict)
    most: int = 0
    waits: list[float] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)

    async def handle(self, key: ObjectKey) -> float | None:
        began = now()
        self.running[key] = self.running.get(key, 0) + 1
        self.most = max(self.most, self.running[key])
        await asyncio.sleep(self.takes_s)
        self.running[key] -= 1
        self.runs.append((key, began, now()))
        if self.fail(len(self.runs)):
            raise RetryError("not yet")
        return self.again_s

    def depth(self, waiting: int) -> None:
        self.depths.append(waiting)

    def waited(self, kind: str, seconds: float) -> None:
        self.waits.append(seconds)

    def ran(self, kind: str, seconds: float, result: str) -> None:
        self.results.append(result)

    def starts(self, key: ObjectKey) -> list[float]:
        return [began for ran, began, _ in self.runs if ran == key]


def queue_of(log: Log, workers: int = 2, run_timeout_s: float = 60.0) -> WorkQueue:
    queue = WorkQueue(log.handle, rng=random.Random(1), observer=log, run_timeout_s=run_timeout_s)
    queue.start(workers)
    return queue


def test_a_key_added_many_times_runs_once() -> None:
    async def scenario() -> Log:
        log = Log()
        queue = queue_of(log)
        for _ in range(5):
            queue.add(A)
        await asyncio.sleep(1)
        await queue.stop(1)
        return log

    assert len(in_virtual_time(scenario()).runs) == 1


def test_a_key_added_while_it_runs_runs_once_more_and_not_at_the_same_time() -> None:
    async def scenario() -> Log:
        log = Log(takes_s=10)
        queue = queue_of(log)
        queue.add(A)
        await asyncio.sleep(5)
        queue.add(A)
        queue.add(A)
        await asyncio.sleep(60)
        await queue.stop(1)
        return log

    log = in_virtual_time(scenario())

    assert log.starts(A) == pytest.approx([0, 10], abs=0.01)
    assert log.most == 1


def test_an_earlier_time_wins_whichever_was_given_first() -> None:
    async def scenario() -> Log:
        log = Log()
        queue = queue_of(log)
        queue.add(A, 30)
        queue.add(A, 5)
        queue.add(B, 5)
        queue.add(B, 30)
        await asyncio.sleep(100)
        await queue.stop(1)
        return log

    log = in_virtual_time(scenario())

    assert log.starts(A) == pytest.approx([5], abs=0.01)
    assert log.starts(B) == pytest.approx([5], abs=0.01)


def test_a_run_says_when_to_look_again_and_an_event_comes_first() -> None:
    async def scenario() -> Log:
        log = Log(again_s=60)
        queue = queue_of(log)
        queue.add(A)
        await asyncio.sleep(30)
        queue.add(A)
        await asyncio.sleep(70)
        await queue.stop(1)
        return log

    assert in_virtual_time(scenario()).starts(A) == pytest.approx([0, 30, 90], abs=0.01)


def test_what_fails_is_tried_again_later_and_later_until_it_works() -> None:
    async def scenario() -> Log:
        log = Log(fail=lambda run: run <= 9)
        queue = queue_of(log)
        queue.add(A)
        await asyncio.sleep(1000)
        await queue.stop(1)
        return log

    log = in_virtual_time(scenario())
    starts = log.starts(A)
    gaps = [after - before for before, after in itertools.pairwise(starts)]

    assert log.results == ["failed"] * 9 + ["ok"]
    assert all(BASE_S <= gap <= CAP_S + 0.01 for gap in gaps)
    assert gaps[-1] >= CAP_S / 2
    assert gaps[0] <= 2 * BASE_S + 0.01


def test_a_success_starts_the_back_off_afresh() -> None:
    async def scenario() -> Log:
        log = Log(fail=lambda run: run not in {6, 8})
        queue = queue_of(log)
        queue.add(A)
        await asyncio.sleep(200)
        queue.add(A)
        await asyncio.sleep(3)
        await queue.stop(1)
        return log

    starts = in_virtual_time(scenario()).starts(A)

    assert starts[7] - starts[6] <= 2 * BASE_S + 0.01  # run 7 is the first failure after run 6


def test_one_key_that_fails_or_hangs_does_not_keep_others_waiting() -> None:
    async def scenario() -> tuple[list[float], tuple[ObjectKey, ...], bool]:
        log = Log()
        other: list[float] = []

        async def handle(key: ObjectKey) -> float | None:
            if key == A:
                await asyncio.sleep(10_000)
            other.append(now())
            return None

        queue = WorkQueue(handle, rng=random.Random(1), observer=log, run_timeout_s=100_000)
        queue.start(2)
        queue.add(A)
        await asyncio.sleep(200)
        queue.add(B)
        await asyncio.sleep(1)
        stuck, alive = queue.stuck(120), queue.alive
        await queue.stop(1)
        return other, stuck, alive

    other, stuck, alive = in_virtual_time(scenario())

    assert other == pytest.approx([200], abs=0.01)
    assert stuck == (A,)
    assert alive


def test_a_run_that_takes_too_long_is_cut_off_and_tried_again() -> None:
    async def scenario() -> Log:
        log = Log(takes_s=1000)
        queue = queue_of(log, run_timeout_s=60)
        queue.add(A)
        await asyncio.sleep(100)
        await queue.stop(0)
        return log

    log = in_virtual_time(scenario())

    assert log.results[0] == "failed"
    assert log.runs == []


async def stuck_after_180_s(takes_s: float) -> tuple[ObjectKey, ...]:
    queue = queue_of(Log(takes_s=takes_s), workers=1, run_timeout_s=1000)
    for number in range(10):
        queue.add(service_key("ns", f"s{number}"))
    await asyncio.sleep(180)
    stuck = queue.stuck(120)
    await queue.stop(0)
    return stuck


def test_keys_that_nobody_gets_to_are_stuck_too() -> None:
    assert len(in_virtual_time(stuck_after_180_s(500))) == 10


def test_a_long_queue_that_moves_is_not_stuck() -> None:
    """A restart would only make it longer."""
    assert in_virtual_time(stuck_after_180_s(50)) == ()


def test_stopping_lets_what_runs_finish_and_begins_nothing_new() -> None:
    async def scenario() -> tuple[Log, float]:
        log = Log(takes_s=3)
        queue = queue_of(log, workers=1)
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(1)
        began = now()
        await queue.stop(8)
        return log, now() - began

    log, took_s = in_virtual_time(scenario())

    assert [key for key, _, _ in log.runs] == [A]
    assert took_s == pytest.approx(2, abs=0.01)


def test_stopping_cuts_off_what_does_not_finish_in_time() -> None:
    async def scenario() -> tuple[Log, float]:
        log = Log(takes_s=1000)
        queue = queue_of(log)
        queue.add(A)
        await asyncio.sleep(1)
        began = now()
        await queue.stop(8)
        return log, now() - began

    log, took_s = in_virtual_time(scenario())

    assert log.runs == []
    assert took_s == pytest.approx(8, abs=0.01)


@given(failures=st.integers(1, 10_000), seed=st.integers(0, 2**32))
def test_a_back_off_is_never_shorter_than_its_base_nor_longer_than_its_cap(
    failures: int, seed: int
) -> None:
    assert BASE_S <= delay_s(failures, random.Random(seed)) <= CAP_S


Step = tuple[int, float, float]  # which key, added how long after the last, to run within


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.floats(0, 20), st.floats(0, 30)), min_size=1, max_size=30
    ),
    takes_s=st.floats(0, 15),
    workers=st.integers(1, 4),
    failing=st.sets(st.integers(1, 40)),
)
def test_every_add_is_followed_by_a_run_and_no_key_runs_twice_at_once(
    steps: list[Step], takes_s: float, workers: int, failing: set[int]
) -> None:
    async def scenario() -> tuple[Log, list[tuple[ObjectKey, float, float]]]:
        log = Log(takes_s=takes_s, fail=lambda run: run in failing)
        queue = queue_of(log, workers)
        added = []
        for which, pause_s, after_s in steps:
            await asyncio.sleep(pause_s)
            key = service_key("ns", f"s{which}")
            queue.add(key, after_s)
            added.append((key, now(), now() + after_s))
        await asyncio.sleep(10_000)
        await queue.stop(100)
        assert len(queue) == 0
        return log, added

    log, added = in_virtual_time(scenario())

    assert log.most <= 1
    slack_s = takes_s * (len(steps) + len(failing)) + 0.1  # workers may be busy with all the others
    for key, at, due in added:
        assert any(at - 1e-3 <= began <= due + slack_s for began in log.starts(key))
    assert len(log.runs) <= len(steps) + len(failing)
