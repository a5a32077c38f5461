"""Who waits in front of the instances, who goes next, and where."""

from dataclasses import replace

import pytest
from support.pool_case import Front, instances, shown_width

from steelyard_router.scheduling.order import ORDERS, Limits, Pace
from steelyard_router.scheduling.pool import EVERY, PASSED_OVER
from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.room import Room
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.waiting import OnTimeout

SHORT = RequestView(prompt_tokens=10, expected_output_tokens=1.0)
LONG = RequestView(prompt_tokens=10_000, expected_output_tokens=1000.0)
HUGE = RequestView(prompt_tokens=900, expected_output_tokens=1.0)
"""Fits a cache of SMALL tokens only where nothing else is."""
SMALL = 1000


def keys(gone: list[tuple[str, str]]) -> list[str]:
    return [key for key, _ in gone]


def test_who_finds_room_goes_at_once_and_the_next_waits() -> None:
    front = Front(instances({"a": 1, "b": 1}))

    assert {front.offer("first"), front.offer("second")} == {"a", "b"}
    assert front.offer("third") is None
    assert front.release() == []
    assert len(front.pool) == 1


@pytest.mark.parametrize("free", ["a", "b"])
def test_who_waits_goes_where_there_is_room_first(free: str) -> None:
    front = Front(instances({"a": 1, "b": 1}))
    front.offer("first"), front.offer("second"), front.offer("waits")
    ends = next(key for key, name in front.placed.items() if name == free)

    assert front.end(ends) == [("waits", free)]
    assert front.end("waits") == []


def test_it_goes_to_the_best_of_those_with_room() -> None:
    """One has computed the beginning of its prompt; both become free at one time."""
    front = Front(instances({"a": 1, "b": 1}))
    request = RequestView(blocks=bytes(range(64)), prompt_tokens=512)
    for key in ("other", "known"):
        front.offer(key, request if key == "known" else LONG)
        front.leases[key].first_byte(0.0)
    front.offer("waits", request)
    for key in ("other", "known"):
        front.leases.pop(key).release(1.0)

    assert front.release(1.0) == [("waits", front.placed["known"])]


def test_nobody_overtakes_who_waits_though_room_has_come() -> None:
    front = Front(instances({"a": 1}))
    front.offer("runs"), front.offer("waits")
    front.leases.pop("runs").release(1.0)

    assert front.offer("late", now=1.0) is None
    assert front.release(1.0) == [("waits", "a")]


def test_who_fits_nowhere_is_passed_over_by_who_does() -> None:
    front = Front(instances({"a": 4}, SMALL))
    front.offer("runs", SHORT), front.offer("huge", HUGE), front.offer("short", SHORT)

    assert keys(front.release()) == ["short"]
    assert list(front.drain()) == ["huge"]


def test_what_one_may_run_on_is_kept_for_it_once_it_has_waited_too_long() -> None:
    front = Front(instances({"a": 4}, SMALL), max_wait_s=5.0)
    front.offer("runs", SHORT), front.offer("huge", HUGE), front.release()

    front.offer("short", SHORT, 6.0)
    assert front.release(6.0) == []
    assert list(front.drain(7.0)) == ["huge", "short"]


def test_one_instance_is_kept_for_it_and_the_same_one_and_others_go_on() -> None:
    front = Front(instances({"a": 4, "b": 4}, SMALL), max_wait_s=5.0)
    front.offer("runs"), front.offer("more"), front.offer("huge", HUGE)
    assert front.release() == []

    placed = set()
    for number in range(3):
        front.offer(f"{number}", SHORT, 6.0 + number)
        placed |= {name for _, name in front.release(6.0 + number)}
    assert len(front.pool) == 1
    assert len(placed) == 1
    emptied = next(key for key in ("runs", "more") if front.placed[key] not in placed)
    assert keys(front.end(emptied, 9.0)) == ["huge"]


def test_nothing_is_kept_for_one_that_only_others_of_its_workload_are_in_the_way_of() -> None:
    room = Room(of_workload={"batch": 1})
    front = Front(instances({"a": 4}), room=room, max_wait_s=5.0)
    front.offer("runs", RequestView(workload="batch"))
    front.offer("waits", RequestView(workload="batch"))
    front.offer("chat", now=6.0)

    assert keys(front.release(6.0)) == ["chat"]


@pytest.mark.parametrize("bounded", ["batch", "default"])
def test_a_workload_at_its_bound_leaves_room_for_the_others(bounded: str) -> None:
    front = Front(instances({"a": 4}), room=Room(of_workload={bounded: 1}))
    front.offer("runs", RequestView(workload=bounded))
    front.offer("waits", RequestView(workload=bounded)), front.offer("chat")
    other = "default" if bounded == "batch" else "batch"
    front.offer("other", RequestView(workload=other))

    assert "other" in keys(front.release())
    assert front.pool.withdraw("waits")


def test_what_it_may_not_run_on_is_not_kept_for_it() -> None:
    """Though it would be better there."""
    front = Front(instances({"a": 4, "b": 4}, SMALL), max_wait_s=5.0)
    only_a, only_b = frozenset({"a"}), frozenset({"b"})
    front.offer("runs", SHORT, among=only_a), front.offer("more", SHORT, among=only_b)
    front.offer("most", SHORT, among=only_b), front.offer("huge", HUGE, among=only_a)
    assert front.release() == []

    front.offer("short", SHORT, 6.0)
    assert front.release(6.0) == [("short", "b")]


@pytest.mark.parametrize("priority", [0, 9])
def test_of_the_work_one_part_is_for_who_has_waited_too_long(priority: int) -> None:
    """However many come that the order would let go first, of a higher class too."""
    first = replace(LONG, priority=priority, slo=SLO(ttft_s=0.1))
    front = Front(instances({"a": 1}), "ShortestPredicted", max_wait_s=5.0)
    front.offer("runs"), front.offer("waits", replace(LONG, prompt_tokens=10_001))
    now, last, begun = 5.0, "runs", 0
    while "waits" not in front.placed:
        begun += 1
        front.offer(f"{begun}", first, now)
        ((last, _),) = front.end(last, now)
        now += 0.01

    assert begun == pytest.approx(EVERY, abs=1)


def test_who_has_waited_too_long_and_cannot_make_it_has_no_such_part() -> None:
    late = replace(LONG, prompt_tokens=10_001, slo=SLO(ttft_s=0.1))
    front = Front(instances({"a": 1}), "ShortestPredicted", max_wait_s=5.0)
    front.offer("runs"), front.offer("waits", late)
    last = "runs"
    for number in range(2 * EVERY):
        front.offer(f"{number}", LONG, 5.0)
        ((last, _),) = front.end(last, 5.0)

    assert "waits" not in front.placed


def test_it_says_when_the_next_one_will_have_waited_too_long() -> None:
    front = Front(instances({"a": 1}), max_wait_s=5.0)
    front.offer("runs")
    assert front.pool.next_s is None

    front.offer("first", now=1.0), front.offer("second", now=2.0), front.release(2.0)
    assert front.pool.next_s == 6.0
    front.release(6.0)
    assert front.pool.next_s == 7.0
    front.release(9.0)
    assert front.pool.next_s == 11.0
    assert front.pool.give_up(12.0) == ["first", "second"]
    assert front.pool.next_s is None
    assert list(front.drain(12.0)) == []


@pytest.mark.parametrize("on_timeout", [OnTimeout.PROMOTE, OnTimeout.DEGRADE])
def test_nobody_waits_longer_than_twice_the_limit(on_timeout: OnTimeout) -> None:
    front = Front(instances({"a": 1}), max_wait_s=5.0, on_timeout=on_timeout)
    front.offer("runs"), front.offer("waits")

    assert front.pool.give_up(9.9) == []
    assert front.pool.give_up(10.0) == ["waits"]
    assert front.pool.give_up(11.0) == []
    assert front.end("runs", 12.0) == []


def test_who_is_to_be_refused_is_at_the_limit() -> None:
    front = Front(instances({"a": 1}), max_wait_s=5.0, on_timeout=OnTimeout.REJECT)
    front.offer("runs"), front.offer("waits"), front.offer("late", now=1.0)

    assert front.pool.give_up(5.0) == ["waits"]
    assert front.end("runs", 5.0) == [("late", "a")]


def test_who_is_degraded_goes_when_nobody_else_waits_whatever_its_class() -> None:
    front = Front(instances({"a": 1}), max_wait_s=5.0, on_timeout=OnTimeout.DEGRADE)
    front.offer("runs"), front.offer("high", RequestView(priority=9)), front.release()
    front.offer("low", RequestView(priority=-9), now=4.0)

    assert list(front.drain(5.0)) == ["low", "high"]


def test_of_equals_a_tenant_goes_first_that_has_less_running() -> None:
    front = Front(instances({"a": 3}))
    for number in range(6):
        front.offer(f"greedy/{number}", RequestView(tenant="greedy"))
    front.offer("modest/0", RequestView(tenant="modest"))
    front.offer("urgent", RequestView(tenant="greedy", priority=1))

    assert list(front.drain())[:3] == ["urgent", "modest/0", "greedy/3"]


def test_what_has_no_tenant_counts_as_one_tenant_and_nothing_stands_idle() -> None:
    front = Front(instances({"a": 2}))
    front.offer("runs", RequestView(tenant="one")), front.offer("too", RequestView(tenant="one"))
    front.offer("more", RequestView(tenant="one")), front.offer("nobody's")

    assert list(front.drain()) == ["nobody's", "more"]


def test_a_session_that_has_had_little_goes_before_one_that_had_much() -> None:
    front = Front(instances({"a": 1}), "ProgramAware")
    front.offer("runs", RequestView(session="long", prompt_tokens=5000))
    front.offer("long/2", RequestView(session="long")), front.offer("new", LONG)

    assert list(front.drain()) == ["new", "long/2"]


def test_many_go_in_the_order_that_was_adopted_and_newcomers_behind() -> None:
    """Nobody sorts them in one go."""
    front = Front(instances({"a": 1}), "ShortestPredicted", at_once=1)
    front.offer("runs")
    for tokens in (900, 100, 500):
        front.offer(f"{tokens}", RequestView(prompt_tokens=tokens, expected_output_tokens=1.0))
    assert front.pool.unordered
    assert front.end("runs") == [("900", "a")]  # as they came: nothing is adopted yet

    orders = front.pool.ordering(0.0, clock=lambda: 0.0, pace=Pace(), limits=Limits())
    front.offer("1", SHORT)
    while not orders.ordering.advance():
        pass
    front.pool.adopt(orders)

    assert list(front.drain()) == ["100", "500", "1"]


def test_who_has_left_while_an_order_was_made_is_not_in_it() -> None:
    front = Front(instances({"a": 1}), at_once=1)
    for key in ("runs", "first", "second", "third"):
        front.offer(key)
    orders = front.pool.ordering(0.0, clock=lambda: 0.0, pace=Pace(), limits=Limits())
    assert front.pool.withdraw("second")
    while not orders.ordering.advance():
        pass
    front.pool.adopt(orders)

    assert list(front.drain()) == ["first", "third"]


def test_who_fits_nowhere_keeps_nobody_from_being_found_for_long() -> None:
    """A release looks at so many that do not fit, and not at all."""
    front = Front(instances({"a": 4}, SMALL))
    front.offer("runs", SHORT)
    for number in range(2 * PASSED_OVER):
        front.offer(f"huge/{number}", HUGE)
    front.offer("short", SHORT)

    assert front.release() == []
    assert "short" in list(front.drain())


def test_who_is_withdrawn_does_not_go() -> None:
    front = Front(instances({"a": 1}))
    front.offer("runs"), front.offer("leaves"), front.offer("stays")

    assert front.pool.withdraw("leaves")
    assert not front.pool.withdraw("leaves")
    assert not front.pool.withdraw("runs")
    assert list(front.drain()) == ["stays"]


@pytest.mark.parametrize("order_name", ORDERS)
def test_a_class_goes_before_any_lower_one_that_fits(order_name: str) -> None:
    front = Front(instances({"a": 1}), order_name)
    front.offer("runs")
    for number in range(12):
        request = RequestView(
            prompt_tokens=10 + 700 * (number % 5),
            priority=number % 3,
            slo=SLO(ttft_s=0.1 + number % 4),
        )
        front.offer(f"{number % 3}/{number}", request, 0.1 * number)

    classes = [key[0] for key in front.drain(2.0)]
    assert classes == ["2"] * 4 + ["1"] * 4 + ["0"] * 4


def test_without_an_instance_all_wait_for_one() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    front = Front(scheduler)

    assert front.offer("first") is None
    assert front.offer("second") is None
    assert front.release() == []
    scheduler.join("a")
    assert front.release(1.0) == [("first", "a"), ("second", "a")]


def test_where_one_joins_there_is_room() -> None:
    scheduler = instances({"a": 1})
    front = Front(scheduler)
    front.offer("runs"), front.offer("waits")

    scheduler.join("b")
    assert front.release() == [("waits", "b")]


def test_who_waits_is_hurt_by_no_instance_that_leaves() -> None:
    scheduler = instances({"a": 1, "b": 1})
    front = Front(scheduler)
    front.offer("first"), front.offer("second"), front.offer("waits")
    gone, stays = front.placed["first"], front.placed["second"]

    scheduler.leave(gone)
    assert front.end("first") == []
    assert front.end("second") == [("waits", stays)]


def test_who_may_run_on_some_only_waits_for_those_and_holds_nobody_up() -> None:
    front = Front(instances({"a": 1, "b": 1}))
    only_a = frozenset({"a"})

    assert front.offer("first", among=only_a) == "a"
    assert front.offer("second", among=only_a) is None
    front.offer("any")
    assert front.release() == [("any", "b")]
    assert front.end("any") == []
    assert front.end("first") == [("second", "a")]


def test_one_whose_only_instances_have_left_waits_for_them() -> None:
    scheduler = instances({"a": 1, "b": 1})
    front = Front(scheduler)
    scheduler.leave("a")

    assert front.offer("first", among=frozenset({"a"})) is None
    assert front.release() == []
    scheduler.join("a")
    assert front.release() == [("first", "a")]


def test_requests_of_others_that_are_not_reported_any_more_hold_nobody_up() -> None:
    scheduler = instances({"a": 2})
    scheduler.observe("a", running=2, waiting=5, now=0.0)
    front = Front(scheduler)

    assert front.offer("waits", now=1.0) is None
    assert front.release(20.0) == [("waits", "a")]


def test_equal_seeds_let_go_in_equal_order() -> None:
    def order_of(seed: int) -> list[str]:
        front = Front(instances({"a": 2}), "SimulatedAnnealing", seed=seed)
        front.offer("runs"), front.offer("too")
        for number in range(30):
            sizes = 50 + 811 * number % 4001
            request = RequestView(prompt_tokens=sizes, slo=SLO(e2e_s=1 + number % 7))
            front.offer(f"{number}", request, 0.01 * number)
        return list(front.drain(0.5))

    assert order_of(1) == order_of(1)
    assert len({tuple(order_of(seed)) for seed in range(5)}) > 1


def test_a_wider_engine_takes_more_at_once() -> None:
    scheduler = instances({"a": 1})
    front = Front(scheduler)
    front.offer("runs"), front.offer("first"), front.offer("second"), front.offer("third")

    front.end("runs")
    shown_width(scheduler, "a", 3)
    assert keys(front.release()) == ["second", "third"]
