"""Sessions that have been given little go first, but not before those whose time is running out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import NOW_S, job, keys, lane, lanes, queues

from steelyard_router.scheduling.order import Job, Lane, ProgramAware, UrgentFirst, arrange
from steelyard_router.scheduling.order.moment import Moment

FREE = lane(0.0, token_s=0.01)


def order(jobs: list[Job], on: Lane = FREE) -> list[str]:
    return keys(arrange(ProgramAware(), jobs, on, NOW_S))


def given_(tokens: float, one: Job) -> Job:
    return replace(one, attained_tokens=tokens)


def test_who_has_been_given_least_goes_first_however_long_it_takes() -> None:
    jobs = [
        given_(9000, job("much", output_tokens=2)),
        given_(0, job("nothing", output_tokens=900)),
        given_(300, job("little", output_tokens=50)),
    ]

    assert order(jobs) == ["nothing", "little", "much"]


def test_equal_sessions_go_by_arrival() -> None:
    jobs = [given_(50, job(f"{waited}", waited_s=waited)) for waited in (1, 3, 2)]

    assert order(jobs) == ["3", "2", "1"]


def test_one_whose_time_is_running_out_goes_before_whatever_its_session_has_had() -> None:
    jobs = [
        given_(0, job("new", ttft_s=60)),
        given_(9000, job("urgent", waited_s=0.3, ttft_s=0.5)),
        given_(99, job("more urgent", waited_s=0.35, ttft_s=0.5)),
    ]

    assert order(jobs) == ["more urgent", "urgent", "new"]


def test_one_that_is_too_late_is_not_urgent() -> None:
    jobs = [
        given_(500, job("too late", waited_s=0.45, ttft_s=0.5)),
        given_(400, job("in time", ttft_s=60)),
    ]

    assert order(jobs) == ["in time", "too late"]


@pytest.mark.parametrize("waited_s", [0.0, 5.0])
def test_a_higher_class_goes_before_a_session_that_had_nothing(waited_s: float) -> None:
    jobs = [given_(0, job("low", waited_s=waited_s)), given_(9000, job("high", priority=1))]

    assert order(jobs) == ["high", "low"]


@given(data=st.data())
def test_among_those_in_no_hurry_of_a_class_nobody_is_behind_one_that_had_more(
    data: st.DataObject,
) -> None:
    on = data.draw(lanes())
    jobs = [given_(data.draw(st.integers(0, 5)), one) for one in data.draw(queues())]
    at = Moment.of(on, NOW_S, len(jobs))
    patience = ProgramAware().patience

    found = arrange(ProgramAware(), jobs, on, NOW_S)

    calm = [
        one for one in found if UrgentFirst.key(one, at)[0] == 1 and not patience.ends_for(one, at)
    ]
    ranks = [(-one.priority, one.attained_tokens) for one in calm]
    assert ranks == sorted(ranks)
