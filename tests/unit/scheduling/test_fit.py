"""Least squares that never ends: what it converges to, and what it never gives."""

import random
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_router.scheduling.predictor.fit import CEILING, FLOOR, TERMS, Gram, products, sweep

ONES = [1.0] * TERMS


def learn(truth: list[float], count: int, *, noise: float = 0.0) -> tuple[list[float], Gram]:
    rng, gram, ratios = random.Random(1), Gram(0.999), list(ONES)
    for _ in range(count):
        features = [rng.random() for _ in range(TERMS)]
        exact = sum(one * two for one, two in zip(features, truth, strict=True))
        target = exact * (1 + noise * (rng.random() - 0.5))
        gram.add(products(features, target, 1.0), target, 1.0)
        sweep(ratios, gram, ONES, [0.1] * TERMS)
        sweep(ratios, gram, ONES, [0.1] * TERMS)
    return ratios, gram


def test_ratios_are_found() -> None:
    truth = [0.5, 2.0, 1.0, 3.0, 0.2]

    assert learn(truth, 600)[0] == pytest.approx(truth, rel=0.03)
    assert learn(truth, 2000, noise=0.2)[0] == pytest.approx(truth, rel=0.15)


def test_a_term_that_costs_nothing_stays_at_the_floor_and_not_below() -> None:
    assert learn([1.0, -3.0, 1.0, 1.0, 1.0], 600)[0][1] == FLOOR


def test_without_equations_the_centre_holds() -> None:
    ratios, centre = [5.0] * TERMS, [2.0, 3.0, 4.0, 5.0, 6.0]
    sweep(ratios, Gram(0.9), centre, [1.0] * TERMS)

    assert ratios == centre


def test_how_well_ratios_explain_the_equations() -> None:
    truth = [0.5, 2.0, 1.0, 3.0, 0.2]
    gram = learn(truth, 100)[1]

    factor, error = gram.fits(truth)
    assert factor == pytest.approx(1)
    assert error == pytest.approx(0, abs=1e-6)
    factor, error = gram.fits([each / 2 for each in truth])
    assert factor == pytest.approx(2)
    assert error == pytest.approx(0.5)
    assert Gram(0.9).fits(truth) == (1.0, 0.0)


def test_sums_of_two_are_the_sums_over_all_equations() -> None:
    one, two, both = Gram(1.0), Gram(1.0), Gram(1.0)
    for gram, target in ((one, 2.0), (two, 3.0)):
        equation = products(ONES, target, 0.5)
        gram.add(equation, target, 0.5)
        both.add(equation, target, 0.5)
    one.merge(two)

    assert (one.sums, one.square, one.weight) == (both.sums, both.square, both.weight)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(0, 1e6), min_size=TERMS, max_size=TERMS),
            st.floats(0, 1e6),
            st.floats(0, 1),
        ),
        max_size=30,
    )
)
def test_whatever_it_is_told_ratios_stay_in_bounds(
    equations: list[tuple[list[float], float, float]],
) -> None:
    gram, ratios = Gram(0.99), list(ONES)
    for features, target, weight in equations:
        gram.add(products(features, target, weight), target, weight)
        sweep(ratios, gram, ONES, [1.0] * TERMS)
        assert all(isfinite(ratio) and FLOOR <= ratio <= CEILING for ratio in ratios)
