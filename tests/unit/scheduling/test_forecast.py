"""What is predicted of a request where it goes: nothing strange, and what an engine would do."""

import random
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.known_predictor import FAST, SLOW, Known, scheduler

from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.strategy import LeastRequest

PLAIN = LeastRequest()


def ask(tokens: int, *, output: float = 100.0, sequences: int = 1) -> RequestView:
    return RequestView(prompt_tokens=tokens, expected_output_tokens=output, sequences=sequences)


def place(made: Scheduler, tokens: int, now: float, *, output: float = 100.0) -> Decision:
    return made.choose(ask(tokens, output=output), PLAIN, now)


def decoding(made: Scheduler, count: int, tokens: int, now: float) -> list[Lease]:
    """So many requests whose prompts are computed."""
    leases = [place(made, tokens, now).lease for _ in range(count)]
    for lease in leases:
        lease.first_byte(now)
    return leases


def prefill_s(tokens: int) -> float:
    return FAST.prefill(tokens, tokens * (tokens + 1) / 2)


def told(decision: Decision) -> tuple[float, float]:
    assert decision.ttft_s is not None
    assert decision.tpot_s is not None
    return decision.ttft_s, decision.tpot_s


@pytest.fixture
def one() -> Scheduler:
    """One instance, known."""
    return scheduler(Known(), 1)


def test_while_an_instance_is_not_known_well_enough_nothing_is_predicted() -> None:
    decision = place(scheduler(Known(trust=False), 1), 1000, 0.0)

    assert (decision.ttft_s, decision.tpot_s) == (None, None)


def test_an_idle_instance_computes_the_prompt_at_once(one: Scheduler) -> None:
    ttft_s, _ = told(place(one, 2000, 0.0))

    assert ttft_s == pytest.approx(FAST.base_s + prefill_s(2000), rel=0.01)


def test_a_long_prompt_takes_a_step_for_each_chunk(one: Scheduler) -> None:
    ttft_s, _ = told(place(one, 20_000, 0.0))

    assert ttft_s == pytest.approx(3 * FAST.base_s + prefill_s(20_000), rel=0.01)


def test_what_is_cached_need_not_be_computed() -> None:
    made, blocks = scheduler(Known(), 1), random.Random(1).randbytes(8 * 60)
    request = RequestView(prompt_tokens=4000, blocks=blocks, block_tokens=64.0)
    first = made.choose(request, PLAIN, 0.0)
    first.lease.first_byte(1.0)
    first.lease.release(1.0)

    again_s, _ = told(made.choose(request, PLAIN, 9.0))

    assert again_s < 0.5 * told(first)[0]


def test_beside_requests_that_decode_the_running_step_ends_first(one: Scheduler) -> None:
    decoding(one, 20, 1000, 0.0)
    step_s = FAST.decode(20, 20_000)

    ttft_s, _ = told(place(one, 1000, 30.0))

    assert ttft_s == pytest.approx(1.5 * step_s + prefill_s(1000), rel=0.05)


def test_behind_a_prompt_that_is_being_computed_its_step_ends_first(one: Scheduler) -> None:
    place(one, 6000, 0.0)
    first_s = FAST.base_s + prefill_s(6000)

    early_s, _ = told(place(one, 1000, 0.05))
    late_s, _ = told(place(one, 1000, 0.15))

    assert early_s == pytest.approx(first_s - 0.05 + FAST.base_s + prefill_s(1000), rel=0.05)
    assert late_s == pytest.approx(first_s - 0.15 + FAST.base_s + 2 * prefill_s(1000), rel=0.05)


def test_a_first_byte_tells_that_a_step_has_ended(one: Scheduler) -> None:
    first = place(one, 6000, 0.0)
    second = place(one, 3000, 0.1)
    first.lease.first_byte(0.25)
    step_s = FAST.decode(1, 6000)

    ttft_s, _ = told(place(one, 500, 0.26))

    assert second.ttft_s is not None
    assert ttft_s == pytest.approx(2 * step_s + prefill_s(3000) + prefill_s(500) - 0.01, rel=0.05)


def test_a_prompt_that_takes_longer_than_predicted_is_waited_for_no_longer(one: Scheduler) -> None:
    place(one, 1000, 0.0)

    ttft_s, _ = told(place(one, 1000, 50.0))

    assert ttft_s == pytest.approx(FAST.base_s + prefill_s(1000), rel=0.05)


def test_a_token_takes_a_step_with_the_request_in_it(one: Scheduler) -> None:
    decoding(one, 19, 1000, 0.0)

    _, tpot_s = told(place(one, 1000, 120.0))

    assert tpot_s == pytest.approx(FAST.decode(20, 20_000), rel=0.05)


def test_a_token_takes_longer_where_prompts_take_their_share(one: Scheduler) -> None:
    idle_s = told(place(one, 100, 0.0))[1]
    for number in range(20):
        place(one, 3000, number * 0.2).lease.first_byte(number * 0.2 + 0.1)

    busy_s = told(place(one, 100, 4.0))[1]

    assert busy_s > 1.2 * idle_s


def test_several_sequences_share_a_prompt_and_widen_the_step(one: Scheduler) -> None:
    alone = told(one.choose(ask(1000), PLAIN, 0.0))
    one = scheduler(Known(), 1)
    many = told(one.choose(ask(1000, sequences=40), PLAIN, 0.0))

    assert many[0] == alone[0]
    assert many[1] > alone[1]


def test_a_slower_instance_takes_as_many_times_longer() -> None:
    fast, slow = scheduler(Known(), 1), scheduler(Known({"i0": SLOW}), 1)

    assert told(place(slow, 1000, 0.0)) == pytest.approx(
        [2.5 * each for each in told(place(fast, 1000, 0.0))]
    )


events = st.tuples(
    st.sampled_from(["place", "first", "progress", "release", "poll"]),
    st.integers(1, 40_000),
    st.floats(0, 3),
)


@settings(max_examples=60)
@given(st.lists(events, max_size=60))
def test_whatever_happens_predictions_are_finite_and_not_less_than_the_work(
    happened: list[tuple[str, int, float]],
) -> None:
    made, now, leases = scheduler(Known(), 2), 0.0, []
    for what, number, passed_s in happened:
        now += passed_s
        if what == "place":
            decision = place(made, number, now, output=float(1 + number % 500))
            ttft_s, tpot_s = told(decision)
            assert isfinite(ttft_s)
            assert isfinite(tpot_s)
            assert ttft_s >= FAST.base_s + FAST.prefill_s * decision.uncached_tokens
            assert tpot_s >= FAST.base_s
            leases.append(decision.lease)
        elif what == "poll":
            made.observe("i0", running=number % 50, waiting=number % 3, now=now)
        elif leases:
            lease = leases[number % len(leases)]
            if what == "first":
                lease.first_byte(now)
            elif what == "progress":
                lease.progress(lease.output_tokens + number % 40, now)
            else:
                lease.release(now)
