"""What a delay costs those with targets: much where they may miss them, else little."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_predictor import Known, scheduler

from steelyard_router.scheduling.objective import SLACK, SPREAD, slope, worth
from steelyard_router.scheduling.predictor import Coefficients
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.stake import Stakes, stakes
from steelyard_router.scheduling.strategy import MarginalDelay

SHARES = st.floats(0, 1e6)
CHAT = RequestView(
    workload="chat", slo=SLO(ttft_s=0.5, tpot_s=0.03), expected_output_tokens=100, prompt_tokens=500
)
BATCH = RequestView(workload="batch", slo=SLO(e2e_s=60.0), expected_output_tokens=600)


def of(*requests: RequestView) -> Stakes:
    made = Stakes()
    for request in requests:
        for stake in stakes(request):
            made.add(stake)
    return made


@given(least=SHARES, more=SHARES)
def test_to_take_more_of_a_target_never_costs_less(least: float, more: float) -> None:
    assert worth(least + more) >= worth(least) >= 0


def test_a_target_that_is_surely_met_or_surely_missed_leaves_little_to_lose() -> None:
    assert worth(0.0) == 0
    assert worth(1 - SPREAD) == pytest.approx(SLACK * (1 - SPREAD))
    assert worth(1.0) == pytest.approx(0.5 + SLACK)
    assert worth(1 + SPREAD) == pytest.approx(1 + SLACK * (1 + SPREAD))
    assert slope(0.1) == slope(9.0) == SLACK
    assert slope(1.0) > 5 * SLACK


@given(share=st.floats(0, 4))
def test_the_slope_is_what_a_little_more_costs(share: float) -> None:
    change = (worth(share + 1e-6) - worth(share)) / 1e-6

    assert change == pytest.approx(slope(share), abs=1e-4)


def test_a_second_costs_its_share_of_the_target_by_how_near_that_is() -> None:
    chat, batch = of(CHAT), of(BATCH)

    assert chat.cost(0.03, 0.03, 0)[0] == pytest.approx(0.3 / (100 * 0.03) * slope(1.0))
    assert chat.cost(0.01, 0.01, 0)[0] == pytest.approx(0.3 / (100 * 0.03) * SLACK)
    assert batch.cost(0.08, 0.08, 0)[0] == pytest.approx(0.1 / 60 * slope(0.8))


def test_workloads_are_as_near_to_their_targets_as_each_of_them_is() -> None:
    """A chat that is lost beside batch jobs does not make these look lost."""
    both = of(CHAT, BATCH, BATCH)

    assert both.cost(0.08, 0.08, 0)[0] == pytest.approx(
        of(CHAT).cost(0.08, 0.08, 0)[0] + 2 * of(BATCH).cost(0.08, 0.08, 0)[0]
    )


def test_sequences_count_each() -> None:
    four = of(RequestView(slo=CHAT.slo, expected_output_tokens=100, sequences=4))

    assert four.cost(0.03, 0.03, 0)[0] == pytest.approx(4 * of(CHAT).cost(0.03, 0.03, 0)[0])


def test_a_target_for_the_first_token_or_one_without_weight_is_not_at_stake() -> None:
    assert not of(RequestView(slo=SLO(ttft_s=1.0)))
    assert not of(RequestView(slo=CHAT.slo, weights=Weights(tpot=0.0)))
    assert not of(RequestView())


def test_what_was_added_is_taken_away() -> None:
    made = of(CHAT, BATCH)
    for stake in (*stakes(CHAT), *stakes(BATCH)):
        made.remove(stake)

    assert not made
    assert made.cost(0.03, 0.03, 0)[0] == 0


def test_a_chat_that_nobody_can_serve_in_time_goes_where_no_other_chat_is_hurt() -> None:
    """i0 is full of batch jobs, i1 serves chats just in time, and every step takes too long."""
    slow = Coefficients(22e-3, 1e-5, 0.0, 1.5e-4, 1e-8)
    made, strategy = scheduler(Known({"i0": slow, "i1": slow})), MarginalDelay()
    for where, request, many in (("i0", BATCH, 40), ("i1", CHAT, 20)):
        for _ in range(many):
            lease = made.choose(request, strategy, 0.0, among=frozenset({where})).lease
            lease.first_byte(0.0)
    hopeless = RequestView(workload="chat", slo=SLO(tpot_s=0.01), expected_output_tokens=100)

    assert made.choose(hopeless, strategy, 60.0).instance == "i0"
    assert made.choose(CHAT, strategy, 60.0).instance == "i1"
