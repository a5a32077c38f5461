"""What a second costs: by targets, or by what is usual, and then in no unit at all."""

from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard_router.scheduling.candidate import Outlook, Terms
from steelyard_router.scheduling.objective import (
    DEFAULT_OUTPUT_TOKENS,
    USUAL_TTFTS,
    Rates,
    harm,
    output_tokens,
)
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.strategy import MarginalDelay
from steelyard_router.scheduling.usual import PRIOR, Latency

WEIGHT = Weights(0.5, 0.25, 0.25)


def test_a_target_that_is_absent_costs_nothing() -> None:
    some = RequestView(slo=SLO(tpot_s=0.05), weights=WEIGHT)
    every = RequestView(slo=SLO(1.0, 0.05, 10.0), weights=WEIGHT)

    assert Rates.of(some, PRIOR) == (0, 5, 0)
    assert Rates.of(every, PRIOR) == (0.5, 5, 0.025)


def test_a_request_without_any_target_is_held_to_what_is_usual() -> None:
    usual = Latency(ttft_s=0.25, tpot_s=0.02)

    rates = Rates.of(RequestView(weights=WEIGHT), usual)

    assert rates == pytest.approx((0.5 / (USUAL_TTFTS * 0.25), 0.25 / 0.02, 0))


def test_a_second_more_spreads_over_the_tokens_of_each_of_its_sequences() -> None:
    request = RequestView(
        slo=SLO(1.0, 0.05, 10.0), weights=WEIGHT, sequences=3, expected_output_tokens=100
    )

    assert harm(request, Rates.of(request, PRIOR)) == pytest.approx(3 * (5 / 100 + 0.025))


def test_an_answer_has_at_least_one_token_and_a_usual_length_where_none_is_expected() -> None:
    assert output_tokens(RequestView(expected_output_tokens=0.2)) == 1
    assert output_tokens(RequestView()) == DEFAULT_OUTPUT_TOKENS


@dataclass(frozen=True)
class Row:
    """An instance: its outlook, and the output tokens of those there, who have no targets."""

    p: float
    q_s: float
    own_s: float
    token_s: float
    added_s: float
    answers: tuple[float, ...]

    def harm(self, usual: Latency) -> float:
        views = [RequestView(expected_output_tokens=tokens) for tokens in self.answers]
        return sum(harm(view, Rates.of(view, usual)) for view in views)


seconds = st.floats(0, 100)
rows = st.builds(
    Row,
    p=st.floats(1, 1e5),
    q_s=seconds,
    own_s=seconds,
    token_s=st.floats(1e-4, 1),
    added_s=st.floats(0, 0.1),
    answers=st.lists(st.floats(1, 5000), max_size=5).map(tuple),
)


def price(fleet: list[Row], usual: Latency, slower: float) -> list[float]:
    """On a fleet so many times slower, of a request without targets that expects 200 tokens."""
    outlook = Outlook(
        [slower * row.q_s for row in fleet],
        [slower * row.own_s for row in fleet],
        [slower * row.token_s for row in fleet],
        [slower * row.added_s for row in fleet],
        [row.harm(usual) for row in fleet],
        [0.0] * len(fleet),
        usual,
    )
    zeros = [0.0] * len(fleet)
    request = RequestView(expected_output_tokens=200)
    slots = list(range(len(fleet)))
    terms = Terms(slots, zeros, [row.p for row in fleet], zeros, zeros, request, 0.0, outlook)
    return MarginalDelay().cost(terms)


@given(
    fleet=st.lists(rows, min_size=2, max_size=5),
    usual=st.builds(Latency, st.floats(0.01, 10), st.floats(0.001, 1)),
    slower=st.sampled_from([1 / 3, 3.0]),
)
def test_without_targets_slower_hardware_on_which_all_is_slower_chooses_alike(
    fleet: list[Row], usual: Latency, slower: float
) -> None:
    before = price(fleet, usual, 1.0)
    then = Latency(slower * usual.ttft_s, slower * usual.tpot_s)

    after = price(fleet, then, slower)

    assert after == pytest.approx(before, rel=1e-9)
    first, second = sorted(before)[:2]
    assume(second > first * (1 + 1e-6))
    assert after.index(min(after)) == before.index(min(before))
