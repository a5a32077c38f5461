from random import Random

import pytest

from steelyard_simulator.baselines.choice import (
    any_least,
    any_most,
    falling,
    first_least,
    first_most,
    rising,
)


def test_the_first_of_equal_extremes() -> None:
    assert first_least([2, 1, 1]) == 1
    assert first_most([2, 3, 3]) == 1


def test_any_of_equal_extremes_and_no_other() -> None:
    rng = Random(0)
    assert {any_least([1, 2, 1], rng) for _ in range(50)} == {0, 2}
    assert {any_most([1, 2, 2], rng) for _ in range(50)} == {1, 2}


@pytest.mark.parametrize(
    ("values", "up"), [([0, 5, 10], [0.0, 0.5, 1.0]), ([3, 3], [0.25, 0.25]), ([7], [0.25])]
)
def test_values_are_scaled_between_the_extremes(values: list[int], up: list[float]) -> None:
    assert rising(values, even=0.25) == up
    assert falling(values, even=0.25) == (up if len(set(up)) == 1 else up[::-1])
