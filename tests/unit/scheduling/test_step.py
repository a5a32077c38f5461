"""A clock that drops is followed at once, by all that it dropped for and by nobody else."""

import random
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_predictor import FAST

from steelyard_router.scheduling.predictor import (
    Coefficients,
    Observation,
    OnlinePredictor,
    attended,
)
from steelyard_router.scheduling.predictor.cusum import MOST, Cusum

NAMES = ("a", "b", "c", "d")


def slower(factor: float) -> Coefficients:
    return Coefficients(*[each * factor for each in FAST])


def window(rng: random.Random, truth: Coefficients, noise: float = 0.05) -> Observation:
    """A second or so of a busy instance."""
    steps, sequences = rng.randint(16, 80), rng.randint(1, 60)
    tokens = rng.choice([0, rng.randint(100, 30_000)])
    context = sequences * rng.randint(500, 15_000)
    work = (steps, tokens, attended(tokens, tokens + 2000), steps * sequences, steps * context)
    took = sum(cost * amount for cost, amount in zip(truth, work, strict=True))
    return Observation(took * rng.lognormvariate(0, noise), *work)


def off(predictor: OnlinePredictor, name: str, truth: Coefficients) -> float:
    """By how much predictions are, relative, on average."""
    rng, errors = random.Random(99), []
    for _ in range(200):
        seen = window(rng, truth, 0.0)
        told = sum(a * b for a, b in zip(predictor.coefficients(name), seen[1:], strict=True))
        errors.append(abs(told / seen.seconds - 1))
    return sum(errors) / len(errors)


@pytest.fixture
def known() -> OnlinePredictor:
    """Four equals that have been learned."""
    predictor, rng = OnlinePredictor(), random.Random(1)
    for name in NAMES:
        predictor.join(name)
    for _ in range(100):
        for name in NAMES:
            predictor.observe(name, window(rng, FAST))
    return predictor


@pytest.mark.parametrize("factor", [2.0, 0.5, 2.7])
def test_a_fleet_whose_clock_drops_is_followed_within_a_few_observations_and_trusted_on(
    known: OnlinePredictor, factor: float
) -> None:
    rng = random.Random(2)
    for _ in range(5):
        for name in NAMES:
            known.observe(name, window(rng, slower(factor)))

    for name in NAMES:
        assert off(known, name, slower(factor)) < 0.1
        assert known.trusted(name)


def test_one_that_steps_alone_goes_alone(known: OnlinePredictor) -> None:
    rng = random.Random(3)
    for _ in range(6):
        for name in NAMES:
            known.observe(name, window(rng, slower(2.0 if name == "b" else 1.0)))

    assert off(known, "b", slower(2)) < 0.1
    assert known.trusted("b")
    assert max(off(known, name, FAST) for name in "acd") < 0.05


def test_those_that_begin_to_show_the_same_are_taken_along(known: OnlinePredictor) -> None:
    rng = random.Random(4)
    known.observe("c", window(rng, slower(2)))
    for _ in range(4):
        known.observe("a", window(rng, slower(2)))

    assert off(known, "c", slower(2)) < 0.15
    assert off(known, "d", FAST) < 0.05


def test_a_stall_is_no_step(known: OnlinePredictor) -> None:
    rng = random.Random(5)
    seen = window(rng, FAST)
    known.observe("a", seen._replace(seconds=50 * seen.seconds))

    assert off(known, "a", FAST) < 0.05
    assert known.coefficients("a") == known.coefficients("b")


def test_prompts_that_alone_take_longer_make_prompts_dearer_and_tokens_hardly(
    known: OnlinePredictor,
) -> None:
    rng = random.Random(6)
    odd = FAST._replace(prefill_s=4 * FAST.prefill_s, attention_s=4 * FAST.attention_s)
    before = known.coefficients("a")
    for _ in range(60):
        for name in NAMES:
            known.observe(name, window(rng, odd))

    after = known.coefficients("a")
    assert after.prefill(8000, 32e6) > 2 * before.prefill(8000, 32e6)
    assert after.decode(20, 60_000) < 1.3 * before.decode(20, 60_000)


def test_one_that_steps_again_and_again_is_not_trusted(known: OnlinePredictor) -> None:
    rng = random.Random(7)
    trusted = 0
    for turn in range(400):
        factor = 3.0 if turn // 5 % 2 else 0.3
        known.observe("a", window(rng, slower(factor)))
        trusted += known.trusted("a")

    assert trusted < 150


def sums(values: list[float]) -> Cusum:
    made = Cusum(0.3, 1.1)
    for value in values:
        made.add(value)
    return made


def test_sums_see_a_step_and_its_direction() -> None:
    up, down = sums([log(2)] * 3), sums([-log(2)] * 3)

    assert (up.stepped, up.rise > up.fall) == (True, True)
    assert (down.stepped, down.rise > down.fall) == (True, False)
    up.clear()
    assert up.calm


@given(st.floats(), st.lists(st.floats(-0.3, 0.3), max_size=50))
def test_one_odd_number_among_calm_ones_is_no_step(odd: float, calm: list[float]) -> None:
    found = sums([*calm, odd, *calm])

    assert not found.stepped
    assert found.rise <= MOST
