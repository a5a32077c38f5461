"""Prices, by hand."""

import pytest

from steelyard_router.scheduling.candidate import Terms
from steelyard_router.scheduling.request import RequestView, Weights
from steelyard_router.scheduling.strategy import (
    AUTO,
    STRATEGIES,
    Adaptive,
    LeastRequest,
    Multiplicative,
    RoundRobin,
    Settings,
    build,
)


def terms(q: list[float], p: list[float], b: list[float], slots: list[int] | None = None) -> Terms:
    return Terms(
        slots=slots or list(range(len(q))),
        q=q,
        p=p,
        b=b,
        c=[0.0] * len(q),
        request=RequestView(),
        now=0.0,
    )


def least(cost: list[float]) -> int:
    return cost.index(min(cost))


def test_multiplicative_is_the_product_of_tokens_to_prefill_and_requests_with_this_one() -> None:
    cost = Multiplicative().cost(terms([0, 100, 100], [50, 50, 1], [0, 1, 3]))

    assert cost == [50, 300, 404]


def test_idle_instances_differ_by_what_they_have_cached() -> None:
    cost = Multiplicative().cost(terms([0, 0], [1000, 1], [0, 0]))

    assert cost.index(min(cost)) == 1


def test_exponents_and_offset_shape_the_product() -> None:
    cost = Multiplicative(0.5, 2.0, 44.0).cost(terms([50], [50], [2]))

    assert cost == [12 * 9]


@pytest.mark.parametrize(
    ("settings", "exponents"),
    [
        (Settings(), (1, 1)),
        (Settings(weights=Weights(0.6, 0.3, 0.1)), (1, 0.5)),
        (Settings(weights=Weights(0, 0.4)), (0, 1)),
        (Settings(weights=Weights(0, 0, 1)), (1, 1)),
        (Settings(p_exponent=2.0), (2, 2)),
        (Settings(p_exponent=2.0, weights=Weights(0.6, 0.3)), (2, 1)),
        (Settings(p_exponent=2.0, weights=Weights(0, 0.3)), (2, 1)),
        (Settings(b_exponent=2.0, weights=Weights(0.6, 0.3)), (4, 2)),
        (Settings(b_exponent=2.0, weights=Weights(0.6, 0)), (1, 2)),
        (Settings(p_exponent=0.7, b_exponent=0.2, weights=Weights(0.6, 0.3)), (0.7, 0.2)),
    ],
)
def test_exponents_that_are_not_set_follow_from_the_weights(
    settings: Settings, exponents: tuple[float, float]
) -> None:
    strategy = Multiplicative.build(settings)

    assert (strategy.p_exponent, strategy.b_exponent) == exponents


def test_least_request_prices_nothing_but_requests() -> None:
    assert LeastRequest().cost(terms([9, 0], [9, 1], [1, 2])) == [1, 2]


def test_round_robin_takes_one_after_the_other_whatever_the_load() -> None:
    strategy = RoundRobin()
    picks = [least(strategy.cost(terms([9, 0, 0], [1, 9, 9], [5, 0, 1]))) for _ in range(7)]

    assert picks == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_keeps_its_turn_when_candidates_come_and_go() -> None:
    strategy = RoundRobin()
    picks = []
    for slots in (
        [2, 5, 9],
        [2, 5, 9],
        [2, 9],
        [2, 3],
        [2, 3],
        [3, 5, 9],
        [2],
        [2, 5, 9],
        [0, 1, 3],
    ):
        zeros = [0.0] * len(slots)
        picks.append(slots[least(strategy.cost(terms(zeros, zeros, zeros, slots)))])

    assert picks == [2, 5, 9, 2, 3, 5, 2, 5, 0]


@pytest.mark.parametrize("kind", STRATEGIES)
def test_every_strategy_is_built_by_its_name(kind: type) -> None:
    strategy = build(kind.__name__, Settings(offset=7))

    assert isinstance(strategy, kind)
    assert strategy.name == kind.__name__


def test_auto_is_the_first_of_them_which_is_adaptive() -> None:
    assert type(build(AUTO)) is STRATEGIES[0] is Adaptive


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'Fastest'; give one of Auto, Adaptive, MarginalDelay"):
        build("Fastest")
