"""Each field about waiting, changed while streams run and wait: those who wait follow it."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.known_predictor import FAST
from support.leaf import leaves
from support.live_policy import Case, Tree, World, check, goes_beside, policy
from support.live_queue import queue_cases
from support.patience import until

from steelyard_router.config import Policy
from steelyard_router.scheduling.order import Decision, Job, Lane
from steelyard_router.scheduling.order.annealing import Annealing, Walk
from steelyard_router.scheduling.predictor import OnlinePredictor

Act = Callable[[World], AbstractAsyncContextManager[None]]
ELSEWHERE = {"workloads", "alerts"}
ONE: Tree = {"max_sequences_per_instance": 1}
NEAR: Tree = {"slo": {"tpot_ms": 10}}
"""A target that is nearly used up by one token of an instance as FAST."""


def batch(**fields: object) -> Tree:
    return policy(batch=fields)


def scheduled(**fields: object) -> Tree:
    return policy(ONE, scheduler=fields)


def annealed(**fields: object) -> Tree:
    return scheduled(order="SimulatedAnnealing", annealing=fields)


@asynccontextmanager
async def shortest(live: World) -> AsyncIterator[None]:
    await live.runs("runs")
    await live.waits("long", words=500)
    await live.waits("short")
    yield
    live.let("runs")
    await live.comes("runs", "short")


@asynccontextmanager
async def waits_again(live: World) -> AsyncIterator[None]:
    await live.runs("one")
    await live.runs("two")
    yield
    await live.waits("three")
    await live.ends("one", "two")
    await live.comes("two", "three")


@asynccontextmanager
async def goes_beside_the_hurried(live: World) -> AsyncIterator[None]:
    """A long prompt waits while it would cost another its target."""
    with (
        patch.object(OnlinePredictor, "trusted", return_value=True),
        patch.object(OnlinePredictor, "coefficients", return_value=FAST),
    ):
        async with goes_beside(words=2800, max_tokens=1)(live):
            yield


@asynccontextmanager
async def ranked(live: World) -> AsyncIterator[None]:
    """Whoever comes from then on brings the engine a priority."""
    await live.decided("before")
    assert live.holding.heads["before"].header("x-vllm-priority") is None
    yield
    await live.decided("after")
    assert live.holding.heads["after"].header("x-vllm-priority") is not None


def searched(part: str, old: float, new: float) -> Act:
    """The searches for an order of those who wait are made by the new schedule."""

    @asynccontextmanager
    async def act(live: World) -> AsyncIterator[None]:
        del live
        seen: list[float] = []
        begin = Annealing.begin

        def noted(self: Annealing, jobs: Sequence[Job], lane: Lane, now_s: float) -> Walk:
            seen.append(getattr(self._schedule, part))
            return begin(self, jobs, lane, now_s)

        with patch.object(Annealing, "begin", noted):
            await only(seen, old)
            yield
            await only(seen, new)

    return act


@asynccontextmanager
async def timed(live: World) -> AsyncIterator[None]:
    del live
    seen: list[float] = []

    def noted(*args: Any, **settings: Any) -> Decision:
        seen.append(settings["limits"].timeout_s)
        return Decision(*args, **settings)

    with patch("steelyard_router.scheduling.pool.Ordering", noted):
        await only(seen, 0.002)
        yield
        await only(seen, 0.003)


async def only(seen: list[float], value: float) -> None:
    """From now on that is all that is seen."""
    seen.clear()
    await until(lambda: len(seen) > 2)
    assert set(seen) == {value}


CASES: dict[str, Case] = {
    **{
        f"queue.{name}": case
        for name, case in queue_cases(lambda queue: policy(ONE, queue=queue)).items()
    },
    "batch.max_sequences": Case(batch(max_sequences=1), batch(max_sequences=2), goes_beside()),
    "batch.kv_percent": Case(
        batch(kv_percent=50), batch(kv_percent=95), goes_beside(words=2800, max_tokens=1)
    ),
    "batch.harm_percent": Case(
        policy(NEAR, batch={"harm_percent": 1}),
        policy(NEAR, batch={"harm_percent": 1_000_000}),
        goes_beside_the_hurried,
    ),
    "batch.queued_prefill_ms": Case(
        batch(queued_prefill_ms=1),
        batch(queued_prefill_ms=1_000_000),
        goes_beside(words=2800, max_tokens=1, stream=True),
    ),
    "scheduler.mode": Case(scheduled(), scheduled(mode="Disabled"), goes_beside()),
    "scheduler.mode, on trial": Case(scheduled(), scheduled(mode="DryRun"), goes_beside()),
    "scheduler.mode, and back": Case(scheduled(mode="Disabled"), scheduled(), waits_again),
    "scheduler.order": Case(
        scheduled(order="FCFS"), scheduled(order="ShortestPredicted"), shortest
    ),
    "scheduler.timeout_ms": Case(
        scheduled(order="SimulatedAnnealing", timeout_ms=2),
        scheduled(order="SimulatedAnnealing", timeout_ms=3),
        timed,
    ),
    "scheduler.annealing.iterations": Case(
        annealed(iterations=50), annealed(iterations=60), searched("iterations", 50, 60)
    ),
    "scheduler.annealing.cooling_percent": Case(
        annealed(cooling_percent=90), annealed(cooling_percent=80), searched("cooling", 0.9, 0.8)
    ),
    "scheduler.annealing.acceptance_percent": Case(
        annealed(acceptance_percent=70),
        annealed(acceptance_percent=60),
        searched("acceptance", 0.7, 0.6),
    ),
    "scheduler.engine_priority": Case(
        scheduled(engine_priority="None"), scheduled(engine_priority="Header"), ranked
    ),
}


def test_every_field_about_waiting_has_a_case_here() -> None:
    fields = {field for field in leaves(Policy) if field.partition(".")[0] not in ELSEWHERE}
    assert fields == {case.partition(",")[0] for case in CASES}


@pytest.mark.parametrize("field", CASES)
async def test_a_change_of_the_field_acts_at_once_and_breaks_nothing(
    field: str, tmp_path: Path
) -> None:
    await check(CASES[field], tmp_path / "router.json")
