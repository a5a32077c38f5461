"""A shift is a mean of late that is far from the usual one, and further than by chance."""

import random
from math import log

import pytest

from steelyard_router.observability.shift import BLOCK, ENOUGH, USUAL, Shift

LEAST = log(1.5)


def fed(*parts: tuple[int, float, float]) -> Shift:
    """So many numbers of that mean and that deviation, one after the other."""
    shift, rng = Shift(LEAST), random.Random(11)
    for count, mean, deviation in parts:
        for _ in range(count):
            shift.add(rng.gauss(mean, deviation))
    return shift


def test_nothing_is_judged_before_enough_is_known() -> None:
    assert not fed((100, 0, 0.1), (ENOUGH * BLOCK - 101, 5, 0.1)).shifted(9.0, before=False)


@pytest.mark.parametrize("deviation", [0.1, 1.0, 2.0])
def test_noise_is_no_shift_however_large(deviation: float) -> None:
    shift, rng = Shift(LEAST), random.Random(2)
    found = 0
    for _ in range(20_000):
        shift.add(rng.gauss(3, deviation))
        found += shift.shifted(abs(shift.size), before=False)

    assert found == 0


def test_a_shift_is_seen_and_its_size_is_right() -> None:
    shift = fed((2000, 0, 0.3), (150, 1.0, 0.3))

    assert shift.shifted(shift.size, before=False)
    assert shift.size == pytest.approx(1.0, abs=0.2)


def test_a_small_shift_is_none_however_sure_it_is() -> None:
    shift = fed((2000, 0, 0.01), (500, 0.2, 0.01))

    assert not shift.shifted(shift.size, before=False)


def test_a_shift_ends_at_half_of_what_it_begins_at() -> None:
    shift = fed((2000, 0, 0.01))

    assert not shift.shifted(LEAST * 0.7, before=False)
    assert shift.shifted(LEAST * 0.7, before=True)
    assert not shift.shifted(LEAST * 0.4, before=True)


def test_what_lasts_becomes_usual() -> None:
    shift = fed((2000, 0, 0.1), (3 * USUAL * BLOCK, 1.0, 0.1))

    assert not shift.shifted(shift.size, before=True)
