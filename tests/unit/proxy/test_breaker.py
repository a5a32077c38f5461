"""The breaker as a state machine over explicit time."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router import config
from steelyard_router.proxy.breaker import RETURN_LAST, Breaker, BreakerState

SETTINGS = config.Breaker(failures=3, open_s=5, open_max_s=18, ramp_s=10)


def opened(at: float = 100.0) -> Breaker:
    """A breaker that opened at that time, and is half-open from `at + 5` on."""
    breaker = Breaker(SETTINGS)
    for _ in range(SETTINGS.failures):
        breaker.failed(at, begun=at - 1)
    assert breaker.state(at) is BreakerState.OPEN
    return breaker


def test_starts_closed_without_a_limit() -> None:
    breaker = Breaker(SETTINGS)

    assert breaker.state(0) is BreakerState.CLOSED
    assert breaker.limit(0) == math.inf


def test_opens_after_failures_in_a_row_only() -> None:
    breaker = Breaker(SETTINGS)
    for _ in range(10):
        breaker.failed(1, begun=0)
        breaker.failed(1, begun=0)
        breaker.succeeded(1, begun=0)
    assert breaker.state(1) is BreakerState.CLOSED

    for _ in range(3):
        breaker.failed(2, begun=1)

    assert breaker.state(2) is BreakerState.OPEN
    assert breaker.limit(2) == 0


def test_lets_one_trial_through_when_the_opening_is_over() -> None:
    breaker = opened(at=100)

    assert breaker.limit(104.9) == 0
    assert breaker.state(105) is BreakerState.HALF_OPEN
    assert breaker.limit(105) == 1


def test_a_trial_that_succeeds_lets_load_return_slowly_and_then_freely() -> None:
    breaker = opened(at=100)
    breaker.succeeded(106, begun=105)

    limits = [breaker.limit(106 + second) for second in range(10)]

    assert breaker.state(106) is BreakerState.RETURNING
    assert limits == sorted(limits)
    assert limits[0] == 2
    assert RETURN_LAST / 2 < limits[-1] < RETURN_LAST
    assert breaker.state(116) is BreakerState.CLOSED
    assert breaker.limit(116) == math.inf


def test_each_failed_trial_doubles_the_opening_up_to_its_maximum() -> None:
    breaker, now, lengths = opened(at=100), 105.0, []
    for _ in range(4):
        breaker.failed(now, begun=now)
        length = next(s for s in range(1, 100) if breaker.state(now + s) is BreakerState.HALF_OPEN)
        lengths.append(length)
        now += length

    assert lengths == [10, 18, 18, 18]


def test_failures_during_the_return_double_the_opening_too() -> None:
    breaker = opened(at=100)
    breaker.succeeded(105, begun=105)
    for _ in range(3):
        breaker.failed(107, begun=106)

    assert breaker.state(107 + 9.9) is BreakerState.OPEN
    assert breaker.state(107 + 10) is BreakerState.HALF_OPEN


def test_a_return_that_lasted_forgets_the_doubling() -> None:
    breaker = opened(at=100)
    breaker.failed(105, begun=105)
    breaker.succeeded(115, begun=115)
    assert breaker.state(125) is BreakerState.CLOSED
    for _ in range(3):
        breaker.failed(126, begun=125)

    assert breaker.state(126 + 5) is BreakerState.HALF_OPEN


def test_failures_of_requests_begun_before_the_opening_do_not_decide_the_trial() -> None:
    breaker = opened(at=100)
    for _ in range(200):
        breaker.failed(106, begun=99)

    assert breaker.state(106) is BreakerState.HALF_OPEN


def test_a_late_success_of_an_old_stream_does_not_close_an_open_breaker() -> None:
    breaker = opened(at=100)
    breaker.succeeded(101, begun=50)
    breaker.succeeded(106, begun=50)

    assert breaker.state(101) is BreakerState.OPEN
    assert breaker.state(106) is BreakerState.HALF_OPEN


def test_late_failures_do_not_count_after_the_return_either() -> None:
    breaker = opened(at=100)
    breaker.succeeded(106, begun=105)
    for _ in range(3):
        breaker.failed(120, begun=99)

    assert breaker.state(120) is BreakerState.CLOSED


@given(
    events=st.lists(
        st.tuples(
            st.booleans(),
            st.floats(0, 30, allow_nan=False),
            st.floats(0, 60, allow_nan=False),
        ),
        max_size=60,
    )
)
def test_whatever_happens_an_opening_ends_within_its_maximum(
    events: list[tuple[bool, float, float]],
) -> None:
    breaker, now = Breaker(SETTINGS), 0.0
    for ok, pause_s, age_s in events:
        now += pause_s
        report = breaker.succeeded if ok else breaker.failed
        report(now, begun=now - age_s)
        before = breaker.state(now), breaker.limit(now)

        assert breaker.limit(now) >= 0
        assert breaker.state(now + SETTINGS.open_max_s) is not BreakerState.OPEN
        assert (breaker.state(now), breaker.limit(now)) == before


@pytest.mark.parametrize("failures", [1, 5])
def test_takes_the_number_of_failures_from_its_settings(failures: int) -> None:
    breaker = Breaker(config.Breaker(failures=failures))
    for _ in range(failures - 1):
        breaker.failed(1, begun=0)
    assert breaker.state(1) is BreakerState.CLOSED

    breaker.failed(1, begun=0)

    assert breaker.state(1) is BreakerState.OPEN
