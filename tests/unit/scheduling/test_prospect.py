"""What all instances together look like to those who wait."""

import pytest
from support.pool_case import PRODUCT, instances

from steelyard_router.scheduling.prospect import MEMORY, MOST_SLOTS, Prospect, prefill_s
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler


def gap_s(prospect: Prospect, scheduler: Scheduler) -> float:
    return prospect.lane(scheduler.snapshot(0.0)).free_s[1]


def test_a_lane_has_the_slots_of_all_up_to_a_bound() -> None:
    assert Prospect().lane(instances({"a": 3, "b": 5}).snapshot(0.0)).width == 8
    assert Prospect().lane(instances({"a": 300}).snapshot(0.0)).width == MOST_SLOTS


def test_where_no_width_is_known_it_is_what_runs_and_one_more() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    scheduler.join("a")
    for _ in range(4):
        scheduler.choose(RequestView(), PRODUCT, 0.0)

    assert Prospect().lane(scheduler.snapshot(0.0)).width == 5


def test_a_slot_is_free_and_the_others_free_as_often_as_of_late() -> None:
    prospect, scheduler = Prospect(), instances({"a": 4})
    for number in range(10 * MEMORY):
        prospect.start(0.5 * number)

    lane = prospect.lane(scheduler.snapshot(0.0))
    assert lane.free_s == pytest.approx([0.0, 0.5, 1.0, 1.5], rel=0.01)


def test_the_time_in_which_nobody_waits_tells_nothing() -> None:
    prospect, scheduler = Prospect(), instances({"a": 4})
    prospect.start(0.0)
    before_s = gap_s(prospect, scheduler)

    prospect.rest()
    prospect.start(3600.0)

    assert gap_s(prospect, scheduler) == before_s


def test_a_token_takes_longer_where_more_runs() -> None:
    scheduler = instances({"a": 40})
    idle_s = Prospect().lane(scheduler.snapshot(0.0)).base_s
    for _ in range(20):
        scheduler.choose(RequestView(), PRODUCT, 0.0).lease.first_byte(0.0)

    assert Prospect().lane(scheduler.snapshot(0.0)).base_s > idle_s > 0


def test_a_prompt_takes_what_it_takes_on_the_mean_instance() -> None:
    loads = instances({"a": 4, "b": 4}).snapshot(0.0)

    assert prefill_s(loads, 2000) == pytest.approx(prefill_s(loads[:1], 2000))
    assert prefill_s(loads, 4000) > prefill_s(loads, 2000) > 0
