"""Who waits, since when, and who of them has waited for too long."""

from collections import Counter
from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.pool_case import PRODUCT

from steelyard_router.scheduling.order import Job
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.waiting import (
    LONGEST,
    NO_LIMIT,
    WAIT_LIMIT,
    Ask,
    OnTimeout,
    Waiting,
    WaitLimit,
)
from steelyard_router.scheduling.waitlist import WaitList


def waiting(key: str, limit: WaitLimit = NO_LIMIT, since_s: float = 0.0) -> Waiting[str]:
    return Waiting(key, Ask(RequestView(), PRODUCT), Job(key, since_s, 0.1, 10.0), limit)


def keys(some: list[Waiting[str]]) -> list[str]:
    return [one.key for one in some]


@pytest.mark.parametrize("on_timeout", OnTimeout)
def test_nobody_waits_longer_than_its_limit_or_twice_that_where_it_is_let_go_on(
    on_timeout: OnTimeout,
) -> None:
    times = 1 if on_timeout is OnTimeout.REJECT else LONGEST

    assert WaitLimit(5.0, on_timeout).longest_s == 5.0 * times
    assert WAIT_LIMIT.longest_s == LONGEST * WAIT_LIMIT.max_wait_s
    assert NO_LIMIT.longest_s == inf


def test_who_has_no_limit_is_never_late() -> None:
    waits: WaitList[str] = WaitList()
    waits.add(waiting("a"))
    waits.age(1e9)

    assert waits.next_s is None
    assert (keys(waits.in_order), waits.given_up()) == (["a"], [])


@pytest.mark.parametrize(
    ("limit", "promoted", "degraded", "given_up"),
    [
        (WaitLimit(5.0, OnTimeout.DEGRADE), [], ["a"], []),
        (WaitLimit(5.0, OnTimeout.REJECT), [], [], ["a"]),
        (WaitLimit(3.0), [], [], ["a"]),
        (WaitLimit(4.0), ["a"], [], []),
        (WaitLimit(9.0), [], [], []),
        (NO_LIMIT, [], [], []),
    ],
)
def test_one_with_another_limit_is_where_it_would_be_had_it_come_with_that(
    limit: WaitLimit, promoted: list[str], degraded: list[str], given_up: list[str]
) -> None:
    waits, one = WaitList[str](), waiting("a", WaitLimit(6.0))
    waits.add(one)
    waits.age(6.0)
    assert keys(waits.promoted) == ["a"]

    waits.limit(one, limit)
    waits.age(6.0)

    assert keys(waits.promoted) == promoted
    assert keys(waits.degraded) == degraded
    assert waits.given_up() == given_up


def test_a_limit_that_is_given_again_lets_nobody_wait_for_less() -> None:
    waits, long, short = WaitList[str](), WaitLimit(8.0), WaitLimit(2.0)
    one = waiting("a", long)
    waits.add(one)
    for limit in (short, long, short, long):
        waits.limit(one, limit)

    waits.age(7.9)
    assert keys(waits.promoted) == []
    for now in (8.0, 15.9):
        waits.age(now)
        assert keys(waits.promoted) == ["a"]
    waits.age(16.0)
    assert waits.given_up() == ["a"]


def test_newcomers_go_behind_those_that_were_put_in_order() -> None:
    waits: WaitList[str] = WaitList()
    some = [waiting(key) for key in "abcd"]
    for one in some:
        waits.add(one)

    waits.reorder([some[2], some[0]])
    assert keys(waits.in_order) == ["c", "a", "b", "d"]
    waits.add(waiting("e"))
    waits.leave(some[0])
    assert keys(waits.in_order) == ["c", "b", "d", "e"]


def test_who_left_while_an_order_was_made_does_not_come_back_with_it() -> None:
    waits: WaitList[str] = WaitList()
    some = [waiting(key) for key in "abc"]
    for one in some:
        waits.add(one)

    waits.leave(some[1])
    waits.reorder([some[2], some[1], some[0]])

    assert keys(waits.in_order) == ["c", "a"]
    assert waits.find("b") is None


def test_one_that_has_left_may_come_again_and_waits_anew() -> None:
    """As a request does whose instance has failed."""
    waits: WaitList[str] = WaitList()
    first, again = (waiting("a", WaitLimit(5.0), since_s) for since_s in (0.0, 3.0))
    waits.add(first)
    waits.leave(first)
    waits.add(again)

    waits.age(6.0)
    assert keys(waits.in_order) == ["a"]
    waits.age(8.0)
    assert (keys(waits.in_order), keys(waits.promoted)) == (["a"], ["a"])
    waits.age(13.0)
    assert waits.given_up() == ["a"]


def test_the_limit_of_each_is_its_own() -> None:
    waits: WaitList[str] = WaitList()
    for on_timeout in OnTimeout:
        waits.add(waiting(on_timeout, WaitLimit(5.0, on_timeout)))

    waits.age(5.0)

    assert (keys(waits.promoted), keys(waits.degraded)) == (["Promote"], ["Degrade"])
    assert waits.given_up() == ["Reject"]


LIMITS = st.builds(WaitLimit, st.sampled_from((1.0, 2.0, 5.0, inf)), st.sampled_from(OnTimeout))


class Leaves(RuleBasedStateMachine):
    """Whoever comes leaves once: it goes, or is told that it has waited for too long."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: WaitList[str] = WaitList()
        self.here: dict[str, Waiting[str]] = {}
        self.now = 0.0
        self.came = 0

    @rule(limit=LIMITS)
    def come(self, limit: WaitLimit) -> None:
        self.came += 1
        key = str(self.came)
        self.here[key] = waiting(key, limit, self.now)
        self.waits.add(self.here[key])

    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        if self.here:
            self.waits.leave(self.here.pop(data.draw(st.sampled_from(sorted(self.here)))))

    @rule(data=st.data(), limit=LIMITS)
    def have_another_limit(self, data: st.DataObject, limit: WaitLimit) -> None:
        if self.here:
            one = self.here[data.draw(st.sampled_from(sorted(self.here)))]
            self.waits.limit(one, limit)
            self.waits.age(self.now)

    @rule(data=st.data())
    def put_in_order(self, data: st.DataObject) -> None:
        self.waits.reorder(data.draw(st.permutations(self.waits.in_order)))

    @rule(seconds=st.sampled_from((0.0, 0.5, 1.0, 3.0)))
    def tick(self, seconds: float) -> None:
        self.now += seconds
        self.waits.age(self.now)

    @rule()
    def tell(self) -> None:
        for key in self.waits.given_up():
            one = self.here.pop(key)
            assert self.now >= one.job.arrived_s + one.limit.longest_s

    @invariant()
    def everyone_is_in_one_place(self) -> None:
        self.tell()
        waits = self.waits
        lists = waits.degraded + waits.in_order
        assert Counter(keys(lists)) == Counter(self.here.keys())
        assert len(waits) == len(self.here)

    @invariant()
    def nobody_waits_longer_than_its_limit(self) -> None:
        self.waits.age(self.now)
        self.tell()
        for one in self.waits:
            waited_s = self.now - one.job.arrived_s
            assert waited_s < one.limit.longest_s
            late = waited_s >= one.limit.max_wait_s
            told = self.waits.promoted + self.waits.degraded
            assert late == (one in told)

    @invariant()
    def it_says_when_the_next_one_is_late(self) -> None:
        due_s = [
            one.job.arrived_s + wait_s
            for one in self.waits
            for wait_s in (one.limit.max_wait_s, one.limit.longest_s)
            if self.now < one.job.arrived_s + wait_s < inf
        ]
        assert self.waits.next_s == min(due_s, default=None)


TestLeaves = Leaves.TestCase
TestLeaves.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
