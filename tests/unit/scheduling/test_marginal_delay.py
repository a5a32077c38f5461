"""Where the least delay to everyone puts a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_predictor import FAST, SLOW, Known, scheduler

from steelyard_router.scheduling.candidate import Outlook, Terms
from steelyard_router.scheduling.predictor import Coefficients
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.strategy import MarginalDelay, marginal_delay
from steelyard_router.scheduling.strategy.marginal_delay import LATER, OTHERS
from steelyard_router.scheduling.usual import PRIOR

CHAT = SLO(ttft_s=0.5, tpot_s=0.03)
BATCH = SLO(e2e_s=600.0)
LATERS = st.floats(0, 50)


def price(
    p: list[float], q_s: list[float], own_s: list[float], harm: list[float], later: float
) -> list[float]:
    """Of a request with a second for its first token, on instances that decode equally fast."""
    rows = len(p)
    request = RequestView(slo=SLO(ttft_s=1.0), weights=Weights(ttft=0.2))
    outlook = Outlook(q_s, own_s, [0.02] * rows, [1e-4] * rows, harm, harm, PRIOR)
    terms = Terms(list(range(rows)), [0.0] * rows, p, [0.0] * rows, [0.0] * rows, request, 0.0)
    terms.outlook = outlook
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginal_delay, "LATER", later)
        return MarginalDelay().cost(terms)


ROWS = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(0, 1e3)), min_size=1, max_size=6
)


@given(rows=ROWS, p=st.floats(1, 1e6), later=LATERS)
def test_those_who_come_later_do_not_count_where_the_prompt_has_to_be_computed_anyway(
    rows: list[tuple[float, float, float]], p: float, later: float
) -> None:
    q_s, own_s, harm = (list(column) for column in zip(*rows, strict=True))

    cost = price([p] * len(rows), q_s, own_s, harm, later)

    assert cost == pytest.approx(price([p] * len(rows), q_s, own_s, harm, 0.0), rel=1e-9)


@given(p=st.floats(2, 1e6), share=st.floats(0.001, 0.999), later=LATERS)
def test_each_token_that_another_instance_has_cached_costs_them_the_same(
    p: float, share: float, later: float
) -> None:
    cached = max(1.0, p * share)
    costs = [price([cached, p], [0, 0], [0, 2.0], [1.0, 1.0], each) for each in (later, 0.0)]

    charged = [with_them - without for with_them, without in zip(*costs, strict=True)]

    avoidable_s = 2.0 * (p - cached) / p
    assert charged == pytest.approx([0, OTHERS * later * avoidable_s], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("later", "chosen"), [(LATER, 0), (0.0, 1)])
def test_they_keep_a_prompt_where_it_is_cached(later: float, chosen: int) -> None:
    cost = price([1e3, 1e4], [0.5, 0.0], [0.1, 1.0], [1.0, 0.2], later)

    assert cost.index(min(cost)) == chosen


def test_a_long_cold_prompt_goes_where_it_waits_less_and_not_where_the_fewest_are() -> None:
    """Were all of its work charged to those who come later, it would wait on i0."""
    made, strategy, slo = scheduler(Known()), MarginalDelay(), SLO(ttft_s=2.0, tpot_s=0.03)
    long, queued, brief = (
        RequestView(prompt_tokens=tokens, slo=slo, expected_output_tokens=400)
        for tokens in (40_000, 4000, 100)
    )
    made.choose(queued, strategy, 0.0, among=frozenset({"i0"}))
    for _ in range(3):
        made.choose(brief, strategy, 0.0, among=frozenset({"i1"})).lease.first_byte(0.0)

    assert made.choose(long, strategy, 0.0).instance == "i1"


def test_a_slower_instance_gets_a_request_only_when_that_costs_less() -> None:
    made, strategy = scheduler(Known({"i0": SLOW, "i1": FAST})), MarginalDelay()
    request = RequestView(prompt_tokens=4000)

    chosen = [made.choose(request, strategy, 0.0).instance for _ in range(14)]

    assert chosen[:2] == ["i1", "i1"]
    assert 2 <= chosen.count("i0") <= 6


def test_a_batch_job_goes_to_batch_jobs_and_not_to_chats() -> None:
    made, strategy = scheduler(Known()), MarginalDelay()
    chat = RequestView(workload="chat", prompt_tokens=500, slo=CHAT)
    batch = RequestView(workload="batch", prompt_tokens=20_000, slo=BATCH)
    for _ in range(6):
        made.choose(chat, strategy, 0.0, among=frozenset({"i0"})).lease.first_byte(0.0)
        made.choose(batch, strategy, 0.0, among=frozenset({"i1"})).lease.first_byte(0.0)

    assert made.choose(batch, strategy, 0.0).instance == "i1"
    assert made.choose(chat, strategy, 0.0).instance == "i0"


def test_with_all_weights_zero_the_less_loaded_gets_it() -> None:
    made, strategy = scheduler(Known()), MarginalDelay()
    request = RequestView(prompt_tokens=4000, weights=Weights(0, 0, 0))

    chosen = [made.choose(request, strategy, 0.0).instance for _ in range(4)]

    assert sorted(chosen) == ["i0", "i0", "i1", "i1"]


@pytest.mark.parametrize("term", range(5))
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_term_that_is_wrong_by_two_still_places_sensibly(term: int, factor: float) -> None:
    wrong = list(FAST)
    wrong[term] *= factor
    known = Coefficients(*wrong)
    made, strategy = scheduler(Known({"i0": known, "i1": known, "i2": known}), 3), MarginalDelay()
    warm = RequestView(blocks=bytes(range(8)) * 100, prompt_tokens=6400, expected_output_tokens=300)
    first = made.choose(warm, strategy, 0.0)
    first.lease.first_byte(0.3)
    first.lease.release(1.0)

    assert made.choose(warm, strategy, 2.0).instance == first.instance
    cold = RequestView(prompt_tokens=6400, expected_output_tokens=300)
    others = {made.choose(cold, strategy, 2.0).instance for _ in range(2)}
    assert others == {"i0", "i1", "i2"} - {first.instance}


def test_columns_follow_the_rows_that_are_kept() -> None:
    outlook = Outlook(
        [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15], [16, 17, 18], PRIOR,
    )  # fmt: skip
    terms = Terms([0, 1, 2], [0] * 3, [0] * 3, [0] * 3, [0] * 3, RequestView(), 0.0, outlook)

    kept = terms.rows([0, 2]).outlook

    assert kept == Outlook([1, 3], [4, 6], [7, 9], [10, 12], [13, 15], [16, 18], PRIOR)
