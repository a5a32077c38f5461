"""A step in what an instance's work takes is seen, small noise and single delays are not."""

import random
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.scheduling.predictor.pace import ADOPT, Pace

USUAL = [1.0, 2.0, 3.0, 4.0, 5.0]


def look(pace: Pace, ratios: list[float]) -> None:
    """As the predictor does at every observation."""
    if pace.due:
        pace.follow(ratios)


def calm(observations: int = 200, noise: float = 0.08) -> Pace:
    """An instance that has been as predicted so far."""
    pace, rng = Pace(), random.Random(5)
    for _ in range(observations):
        look(pace, USUAL)
        pace.note(rng.gauss(0, noise))
    return pace


def test_without_a_step_the_pace_is_one() -> None:
    assert calm(5000).ratio == 1.0


@pytest.mark.parametrize("factor", [2.0, 0.5, 1.5])
def test_a_step_is_seen_within_a_few_observations_and_measured(factor: float) -> None:
    pace = calm()
    seen = 0
    while not pace.stepped:
        pace.note(log(factor))
        seen += 1
        assert seen < 12
    for _ in range(30):
        pace.note(log(factor))

    assert pace.ratio == pytest.approx(factor, rel=0.05)


def test_one_stalled_connection_is_no_step() -> None:
    pace = calm()
    pace.note(log(1000))

    assert not pace.stepped


def test_who_is_as_before_again_has_no_step_any_more() -> None:
    pace = calm()
    for _ in range(20):
        pace.note(log(2))
    assert pace.stepped

    for _ in range(40):
        pace.note(0.0)

    assert pace.ratio == 1.0


def test_the_reference_stays_during_a_step_until_that_is_what_is_usual() -> None:
    pace = calm()
    slower = [2 * each for each in USUAL]
    for _ in range(ADOPT):
        pace.note(log(2))
        look(pace, slower)
        assert pace.reference == USUAL
    assert pace.stepped

    for _ in range(5):
        pace.note(log(2))
        look(pace, slower)

    assert pace.reference == slower
    assert pace.ratio == 1.0


def test_in_calm_times_the_reference_follows_slowly() -> None:
    pace = calm()
    for _ in range(3000):
        look(pace, [1.1 * each for each in USUAL])
        pace.note(0.05)

    assert pace.reference == pytest.approx([1.1 * each for each in USUAL], rel=0.01)


@given(st.lists(st.floats(-5, 5), max_size=300))
def test_the_ratio_is_bounded_whatever_is_seen(stretches: list[float]) -> None:
    pace = Pace()
    pace.follow(USUAL)
    for stretch in stretches:
        pace.note(stretch)

    assert exp(-1.2) <= pace.ratio <= exp(1.2)
