"""How much of an instance's time prompts take, and that a request with a long answer minds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_predictor import FAST, Known, scheduler

from steelyard_router.scheduling.predictor import attended
from steelyard_router.scheduling.prefill_share import MEMORY_S, MOST, PrefillShare
from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy import LeastRequest, MarginalDelay


def share_of(made: Scheduler, instance: str, now: float) -> float:
    member = made._fleet.find(instance)
    assert member is not None
    return member.account.prefill_share.at(now)


def test_prompts_that_come_evenly_give_the_share_of_time_that_they_take() -> None:
    share = PrefillShare()
    for turn in range(300):
        share.add(0.1, turn * 0.5)

    assert share.at(149.75) == pytest.approx(0.1 / 0.5, rel=0.02)


def test_it_fades_with_time_down_to_nothing() -> None:
    share = PrefillShare()
    assert share.at(5.0) == 0

    share.add(2.0, 5.0)

    assert share.at(5.0) == pytest.approx(2.0 / MEMORY_S)
    assert share.at(5.0 + MEMORY_S) == pytest.approx(2.0 / MEMORY_S / 2.71828, rel=1e-3)
    assert share.at(5.0 + 20 * MEMORY_S) < 1e-8


def test_priced_anew_it_is_the_share_at_what_prompts_cost_now() -> None:
    share = PrefillShare()
    for tokens, now in ((3000, 0.0), (500, 2.0), (9000, 3.5)):
        pairs = attended(tokens, tokens)
        share.add(FAST.prefill(tokens, pairs), now, tokens=tokens, pairs=pairs)

    assert share.priced(FAST.prefill_s, FAST.attention_s, 5.0) == pytest.approx(share.at(5.0))
    twice = share.priced(2 * FAST.prefill_s, 2 * FAST.attention_s, 5.0)
    assert twice == pytest.approx(2 * share.at(5.0))
    assert share.priced(1.0, 1.0, 5.0) == MOST


@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 100)), max_size=30),
    st.floats(0, 1e3),
)
def test_it_is_never_below_zero_nor_above_the_most(
    prompts: list[tuple[float, float]], later: float
) -> None:
    share, now = PrefillShare(), 0.0
    for seconds, passed in prompts:
        now += passed
        share.add(seconds, now)
        assert 0 <= share.at(now) <= MOST
    assert 0 <= share.at(now + later) <= share.at(now)


def test_more_work_than_there_is_time_for_is_not_all_of_the_time() -> None:
    share = PrefillShare()
    share.add(1e6, 0.0)

    assert share.at(0.0) == MOST < 1


def test_a_prompt_counts_by_its_uncached_tokens_when_it_is_placed_and_not_again() -> None:
    made = scheduler(Known(), 1)
    request = RequestView(blocks=bytes(range(8)) * 100, prompt_tokens=6400)

    lease = made.choose(request, LeastRequest(), 0.0).lease

    whole = FAST.prefill(6400, attended(6400, 6400)) / MEMORY_S
    assert share_of(made, "i0", 0.0) == pytest.approx(whole)
    lease.first_byte(0.0)
    lease.release(0.0)
    made.choose(request, LeastRequest(), 0.0)  # all of it but one token is cached
    assert share_of(made, "i0", 0.0) == pytest.approx(whole, rel=0.001)


def test_who_decodes_for_long_keeps_away_from_where_prompts_come_until_they_are_forgotten() -> None:
    made = scheduler(Known())
    prompt = RequestView(prompt_tokens=60_000)
    for _ in range(2):
        lease = made.choose(prompt, LeastRequest(), 0.0, among=frozenset({"i0"})).lease
        lease.first_byte(0.0)
        lease.release(0.0)
    first, second = (made.choose(RequestView(), LeastRequest(), 0.0) for _ in range(2))
    assert {first.instance, second.instance} == {"i0", "i1"}
    longer = RequestView(prompt_tokens=100, slo=SLO(tpot_s=0.03), expected_output_tokens=2000)

    def chosen(now: float) -> list[str]:
        """Of requests that come one after the other."""
        names = []
        for _ in range(4):
            decision = made.choose(longer, MarginalDelay(), now)
            decision.lease.release(now)
            names.append(decision.instance)
        return names

    assert chosen(1.0) == ["i1"] * 4
    assert share_of(made, "i0", 1.0) > 0.3
    assert set(chosen(100 * MEMORY_S)) == {"i0", "i1"}
