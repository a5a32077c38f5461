"""What is predicted of an order, by hand and against the fast forms of it."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.waiting import NOW_S, job, keys, lane, lanes, queues, worth

from steelyard_router.scheduling.order import Job, Lane, slots
from steelyard_router.scheduling.order.batching import Batches
from steelyard_router.scheduling.order.objective import Score, predict, predict_batches, score
from steelyard_router.scheduling.order.timeline import Timeline


def test_a_request_starts_when_a_slot_frees_and_its_prompt_waits_for_those_before_it() -> None:
    on = lane(0.0, 2.0, token_s=0.1, queued_s=0.5)
    order = [job("a", prefill_s=0.2), job("b", prefill_s=0.3), job("c", prefill_s=0.4)]

    first, second, third = predict(order, on, NOW_S)

    # a: the prompts that are there take until 0.5, its own until 0.7, ten more tokens a second.
    assert (first.start_s, first.first_s, first.end_s) == pytest.approx((0.0, 0.7, 1.7))
    # b: the slot of a is free at 1.7, before the other.
    assert (second.start_s, second.first_s, second.end_s) == pytest.approx((1.7, 2.0, 3.0))
    # c: the slot frees at 2.0, just when the prompt of b is done.
    assert (third.start_s, third.first_s, third.end_s) == pytest.approx((2.0, 2.4, 3.4))


def test_every_target_must_hold_and_what_was_waited_counts() -> None:
    on = lane(0.0, 0.0, 0.0, token_s=0.01)
    late = [
        job("ttft", waited_s=0.45, ttft_s=0.5),
        job("tpot", tpot_s=0.009),
        job("e2e", waited_s=1.0, e2e_s=1.15),
    ]
    good = [
        job("ttft", waited_s=0.3, ttft_s=0.5),
        job("tpot", tpot_s=0.011),
        job("none"),
        job("one token has no pace", output_tokens=1, tpot_s=0.001),
    ]

    assert [predict([each], on, NOW_S)[0].met for each in late] == [False] * 3
    assert [predict([each], on, NOW_S)[0].met for each in good] == [True] * 4


def test_g_is_requests_on_time_per_second_of_all_latencies() -> None:
    on = lane(0.0, token_s=0.1)
    order = [job("a", waited_s=1.0, ttft_s=2.0), job("b", waited_s=3.0, ttft_s=1.0)]

    found = worth(order, on)  # a ends at 1.1, b at 2.2

    assert found.met == 1
    assert found.total_s == pytest.approx(1.0 + 1.1 + 3.0 + 2.2)
    assert found.g == pytest.approx(1 / 7.3)


def test_where_nobody_is_on_time_less_time_ranks_higher() -> None:
    assert Score(0, 5.0).rank > Score(0, 6.0).rank
    assert Score(1, 100.0).rank > Score(0, 1.0).rank
    assert Score(0, 0.0).g == 0.0


def test_a_batch_runs_to_its_end_before_the_next_begins() -> None:
    on = Lane("i0", [0.0, 1.0], base_s=0.1, sequence_s=0.05)
    batches = [[job("a"), job("b", output_tokens=21)], [job("c")]]

    first, second, third = predict_batches(batches, on, NOW_S)

    # All slots are free at 1.0; two prompts take 0.2, a token of two 0.2 s, of one 0.15 s.
    assert (first.first_s, first.end_s) == pytest.approx((1.2, 3.2))
    assert (second.first_s, second.end_s) == pytest.approx((1.2, 5.2))
    assert (third.start_s, third.first_s, third.end_s) == pytest.approx((5.2, 5.3, 6.8))


def test_the_window_says_which_ends_free_a_slot() -> None:
    assert slots([3.0, 1.0], window=4) == [0.0, 0.0, 1.0, 3.0]
    assert slots([3.0, 1.0, 2.0], window=2) == [2.0, 3.0]  # the first end frees no slot
    assert slots([-1.0], window=1) == [0.0]  # overdue by the prediction


def test_tokens_are_as_slow_as_the_lane_is_full() -> None:
    on = Lane("i0", [0.0, 0.0, 1.0, 2.0], base_s=1.0, sequence_s=0.1)

    assert on.full_token_s(waiting=1) == pytest.approx(1.3)
    assert on.full_token_s(waiting=9) == pytest.approx(1.4)


def test_a_lane_without_a_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="i0"):
        Lane("i0", [], 0.01)


@settings(max_examples=50)
@given(queues(at_most=20, classes=1), lanes(), st.randoms(use_true_random=False))
def test_a_timeline_says_what_predict_says_along_any_walk(
    jobs: list[Job], on: Lane, random: Random
) -> None:
    plan = Timeline(jobs, on, NOW_S)
    _same(plan.score, worth(plan.order, on))
    if plan.settled:
        return
    for _ in range(8):
        found = plan.propose(random)
        if random.random() < 0.7:
            plan.accept()
            _same(found, worth(plan.order, on))
            assert sorted(keys(plan.order)) == sorted(keys(jobs))


@settings(max_examples=50)
@given(queues(classes=1), lanes(), st.randoms(use_true_random=False))
def test_batches_say_what_predict_batches_says_along_any_walk(
    jobs: list[Job], on: Lane, random: Random
) -> None:
    plan = Batches(jobs, on, NOW_S)
    found = plan.score
    for _ in range(8):
        sizes = plan.sizes
        assert sum(sizes) == len(jobs)
        assert all(1 <= size <= on.width for size in sizes)
        order, batches = plan.order, []
        for size in sizes:
            batches.append(order[:size])
            order = order[size:]
        _same(found, score(plan.order, predict_batches(batches, on, NOW_S), NOW_S))
        if plan.settled:
            return
        found = plan.propose(random)
        plan.accept()


def _same(one: Score, other: Score) -> None:
    """Up to rounding, which may also decide whether what is exactly on time is."""
    assert one.total_s == pytest.approx(other.total_s)
    assert abs(one.met - other.met) <= 1
