"""What of a trace is sent, and when."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.load.selection import (
    Window,
    at_rate,
    jittered,
    plan,
    poisson,
    select,
    spread,
)
from steelyard_simulator.load.trace import Trace, TraceRequest


def at(at_s: float, tokens: int = 10, follows: int | None = None) -> TraceRequest:
    return TraceRequest(
        at_s=at_s, input_tokens=tokens, output_tokens=tokens, follows=follows, think_s=4.0
    )


def test_a_window_takes_its_requests_and_counts_their_times_from_its_start() -> None:
    selection = select([at(0), at(10), at(19.9), at(20)], Window(start_s=10, duration_s=10))

    assert [request.at_s for request in selection.requests] == [0, pytest.approx(9.9)]


def test_a_request_whose_predecessor_lies_before_the_window_begins_at_its_own_time() -> None:
    selection = select([at(0), at(5, follows=0), at(7, follows=1)], Window(start_s=5))

    assert [request.follows for request in selection.requests] == [None, 0]
    assert [request.think_s for request in selection.requests] == [0.0, 4.0]


def test_a_conversation_is_cut_at_its_first_prompt_over_the_limit() -> None:
    requests = [at(0), at(1, 99, follows=0), at(2, follows=1), at(3), at(4, follows=3)]

    selection = select(requests, Window(max_input=50))

    assert [request.at_s for request in selection.requests] == [0, 3, 4]
    assert [request.follows for request in selection.requests] == [None, None, 1]
    assert selection.too_long == 2


def test_limit_and_output_cap_bound_what_is_asked() -> None:
    selection = select([at(0, 9), at(1, 0), at(2, 5)], Window(limit=2, output_cap=7))

    assert [request.output_tokens for request in selection.requests] == [7, 1]
    assert [request.input_tokens for request in selection.requests] == [9, 0]


def test_requests_of_one_bucket_are_laid_evenly_over_it() -> None:
    times = [request.at_s for request in spread([at(0), at(0), at(0), at(2.999), at(6)], 3.0)]

    assert times == [0, 1, 2, 3, 6]


@given(st.lists(st.integers(min_value=0, max_value=20), max_size=60))
def test_spreading_moves_no_request_out_of_its_bucket_or_before_another(buckets: list[int]) -> None:
    requests = [at(3.0 * bucket) for bucket in sorted(buckets)]

    moved = [request.at_s for request in spread(requests, 3.0)]

    assert moved == sorted(moved)
    assert all(old.at_s <= new < old.at_s + 3.0 for old, new in zip(requests, moved, strict=True))


def test_a_rate_factor_shortens_gaps_and_pauses() -> None:
    (request,) = at_rate([at(10)], 4)

    assert (request.at_s, request.think_s) == (2.5, 1.0)


def test_a_plan_spreads_only_traces_with_rounded_times_and_only_when_asked() -> None:
    requests = (at(0), at(0))
    rounded = Trace(Path("t"), "Mooncake", requests, bucket_s=3.0)
    exact = Trace(Path("t"), "Mooncake", requests)

    assert [r.at_s for r in plan(rounded, Window(), speed=3.0).requests] == [0, 0.5]
    assert [r.at_s for r in plan(rounded, Window(), even=False).requests] == [0, 0]
    assert [r.at_s for r in plan(exact, Window()).requests] == [0, 0]


def test_jitter_delays_each_arrival_by_a_little_of_its_own() -> None:
    requests = [at(float(n)) for n in range(50)]

    delays = [
        moved.at_s - request.at_s
        for moved, request in zip(jittered(requests, 0.1, Random(1)), requests, strict=True)
    ]

    assert all(0 <= delay <= 0.1 for delay in delays)
    assert len({*delays}) == 50


def test_poisson_keeps_the_requests_their_order_and_their_span() -> None:
    requests = [at(float(n // 10 * 10), tokens=n + 1) for n in range(100)]

    moved = poisson(requests, Random(1))

    assert [one.input_tokens for one in moved] == list(range(1, 101))
    times = [one.at_s for one in moved]
    assert times == sorted(times)
    assert times[0] >= 0
    assert 80 < times[-1] <= 90
    assert len({*times}) == 100
