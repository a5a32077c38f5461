"""What all instances together look like to those who wait."""

import pytest
from support.pool_case import PRODUCT, instances, shown_width

from steelyard_router.scheduling.order import Lane
from steelyard_router.scheduling.predictor import Coefficients
from steelyard_router.scheduling.prospect import FRESH_S, MEMORY, MOST_SLOTS, Prospect, mean
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler


def lane_of(scheduler: Scheduler) -> Lane:
    prospect = Prospect(scheduler)
    prospect.look(0.0)
    return prospect.lane()


def test_a_lane_has_the_slots_of_all_up_to_a_bound() -> None:
    assert lane_of(instances({"a": 3, "b": 5})).width == 8
    assert lane_of(instances({"a": 300})).width == MOST_SLOTS


def test_where_no_width_is_known_it_is_what_runs_and_one_more() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    scheduler.join("a")
    for _ in range(4):
        scheduler.choose(RequestView(), PRODUCT, 0.0)

    assert lane_of(scheduler).width == 5


def test_a_slot_is_free_and_the_others_free_as_often_as_of_late() -> None:
    prospect = Prospect(instances({"a": 4}))
    prospect.look(0.0)
    for number in range(10 * MEMORY):
        prospect.start(0.5 * number)

    assert prospect.lane().free_s == pytest.approx([0.0, 0.5, 1.0, 1.5], rel=0.01)


def test_the_time_in_which_nobody_waits_tells_nothing() -> None:
    prospect = Prospect(instances({"a": 4}))
    prospect.look(0.0)
    prospect.start(0.0)
    before_s = prospect.lane().free_s[1]

    prospect.rest()
    prospect.start(3600.0)

    assert prospect.lane().free_s[1] == before_s


def test_a_token_takes_longer_where_more_runs() -> None:
    scheduler = instances({"a": 40})
    idle_s = lane_of(scheduler).base_s
    for _ in range(20):
        scheduler.choose(RequestView(), PRODUCT, 0.0).lease.first_byte(0.0)

    assert lane_of(scheduler).base_s > idle_s > 0


def test_a_look_holds_for_a_while() -> None:
    scheduler = instances({"a": 4})
    prospect = Prospect(scheduler)
    prospect.look(0.0)
    shown_width(scheduler, "a", 7)

    prospect.look(0.9 * FRESH_S)
    assert prospect.lane().width == 4
    prospect.look(1.1 * FRESH_S)
    assert prospect.lane().width == 7


def test_without_an_instance_there_is_a_lane_still() -> None:
    assert lane_of(Scheduler(index_bytes=10**6)).width == 1


def test_a_prompt_costs_what_it_costs_on_the_mean_instance() -> None:
    one, other = Coefficients(1, 2, 3, 4, 5), Coefficients(3, 4, 5, 6, 7)

    assert mean([one, other]) == Coefficients(2, 3, 4, 5, 6)
