"""A router learns what simulated engines cost from what it sees of them, and places by it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.learning_fleet import EQUAL, FAST, MIXED, play

from steelyard_router.scheduling.predictor import Coefficients
from steelyard_simulator.engine.profile import Profile

TESTS = Path(__file__).parents[2]


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
    policy, _ = play("Adaptive", 300, EQUAL)

    loads = policy.scheduler.snapshot(1e6)
    assert all(load.trusted for load in loads)
    assert len({load.coefficients for load in loads}) == 1
    assert off(loads[0].coefficients, FAST) < 0.1


def test_it_stays_within_a_tenth_whatever_the_strategy() -> None:
    for strategy in ("Adaptive", "RoundRobin"):
        policy, _ = play(strategy, 1500, EQUAL)
        assert off(policy.scheduler.snapshot(1e6)[0].coefficients, FAST) < 0.1


def test_slow_engines_are_told_from_fast_ones() -> None:
    policy, _ = play("Multiplicative", 1500, MIXED)

    for load, factor in zip(policy.scheduler.snapshot(1e6), MIXED, strict=True):
        assert load.trusted
        assert off(load.coefficients, FAST.slowed(factor)) < 0.16


def means(strategy: str, slowness: Sequence[float]) -> tuple[float, float]:
    """Of TTFT and of the time from first to last token, in seconds, over requests that all end."""
    _, fleet = play(strategy, 1500, slowness)
    spans = [
        (each.ttft_s, each.e2e_s - each.ttft_s)
        for each in fleet.outcomes
        if each.ttft_s is not None and each.e2e_s is not None
    ]
    assert len(spans) == 1500
    return sum(first for first, _ in spans) / 1500, sum(rest for _, rest in spans) / 1500


@pytest.mark.parametrize("slowness", [EQUAL, MIXED], ids=["equal", "mixed"])
def test_the_default_serves_no_slower_than_the_product(slowness: Sequence[float]) -> None:
    """Where no prompts have anything in common, so that there is nothing to win by caches."""
    ttft, decode = means("Auto", slowness)
    product_ttft, product_decode = means("Multiplicative", slowness)

    assert ttft < product_ttft * (0.97 if slowness == MIXED else 1.01)
    assert decode < product_decode * 1.01


def test_a_replay_ends_the_same_whatever_the_hash_seed() -> None:
    """Of engines whose likeness changes, so that sums over them are made anew."""
    told = set()
    for seed in ("1", "2", "3", "4"):
        done = subprocess.run(
            [sys.executable, "-m", "support.learning_fleet"],
            cwd=TESTS,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout)

    (only,) = told
    assert int(only.split()[0]) > 1
