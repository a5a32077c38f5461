"""A router learns what simulated engines cost from what it sees of them, and places by it."""

import random

import pytest

from steelyard_router.scheduling.predictor import Coefficients
from steelyard_router.scheduling.strategy import build
from steelyard_simulator.engine.profile import Profile, profile
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.fleet import Fleet
from steelyard_simulator.replay.scheduled import SchedulerPolicy
from steelyard_simulator.replay.source import OpenLoop

INSTANCES = 4
FAST = profile("reference")


def traffic(count: int, per_s: float) -> list[TraceRequest]:
    """Prompts of a few hundred to many thousand tokens, in Poisson order."""
    rng, now, requests = random.Random(3), 0.0, []
    for number in range(count):
        now += rng.expovariate(per_s)
        tokens = int(min(60_000, rng.lognormvariate(8.5, 1.0))) + 1
        blocks = (range(number * 200, number * 200 + tokens // 512),)
        requests.append(TraceRequest(now, tokens, rng.randint(20, 500), blocks))
    return requests


def play(strategy: str, count: int, slowness: list[float]) -> tuple[SchedulerPolicy, Fleet]:
    policy = SchedulerPolicy(lambda: build(strategy))
    requests = traffic(count, 4.0)
    fleet = Fleet([FAST] * INSTANCES, [policy], requests, OpenLoop(requests), slowness=slowness)
    fleet.run()
    return policy, fleet


def off(found: Coefficients, truth: Profile) -> float:
    """Largest error of a prediction, relative: a decode step, a prompt, and both with context."""
    cases = [(0, 0, 5, 20_000), (0, 0, 40, 400_000), (8000, 32 * 10**6, 10, 80_000)]
    errors = []
    for tokens, pairs, sequences, context in cases:
        mine = found.prefill(tokens, pairs) + found.decode(sequences, context)
        exact = truth.step_s(
            prefill_tokens=tokens, pairs=pairs, sequences=sequences, context_tokens=context
        )
        errors.append(abs(mine / exact - 1))
    return max(errors)


def test_three_hundred_requests_teach_four_equal_engines_within_a_tenth() -> None:
    policy, _ = play("Adaptive", 300, [])

    loads = policy.scheduler.snapshot(1e6)
    assert all(load.trusted for load in loads)
    assert len({load.coefficients for load in loads}) == 1
    assert off(loads[0].coefficients, FAST) < 0.1


def test_it_stays_within_a_tenth_whatever_the_strategy() -> None:
    for strategy in ("Adaptive", "RoundRobin"):
        policy, _ = play(strategy, 1500, [])
        assert off(policy.scheduler.snapshot(1e6)[0].coefficients, FAST) < 0.1


def test_slow_engines_are_told_from_fast_ones() -> None:
    slowness = [1.0, 1.0, 2.5, 2.5]
    policy, _ = play("Multiplicative", 1500, slowness)

    for load, factor in zip(policy.scheduler.snapshot(1e6), slowness, strict=True):
        assert load.trusted
        assert off(load.coefficients, FAST.slowed(factor)) < 0.15


@pytest.mark.parametrize("slowness", [[], [1.0, 1.0, 2.5, 2.5]], ids=["equal", "mixed"])
def test_the_default_serves_faster_than_the_product(slowness: list[float]) -> None:
    """The sum of all latencies, so that neither half of it can be bought with the other."""
    means = {}
    for strategy in ("Multiplicative", "Adaptive"):
        _, fleet = play(strategy, 1500, slowness)
        spans = [outcome.e2e_s for outcome in fleet.outcomes if outcome.e2e_s is not None]
        assert len(spans) == 1500
        means[strategy] = sum(spans) / len(spans)

    assert means["Adaptive"] < means["Multiplicative"] * (0.98 if slowness else 1.02)
