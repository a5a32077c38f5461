"""Fair turns among tenants."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pool_case import PRODUCT, Front, instances

from steelyard_router.scheduling.order import Job
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.tenancy import in_turn
from steelyard_router.scheduling.waiting import NO_LIMIT, Ask, Waiting

TENANTS = (None, "one", "two", "three")


def waiting(key: str, tenant: str | None, priority: int = 0) -> Waiting[str]:
    request = RequestView(tenant=tenant, priority=priority)
    job = Job(key, 0.0, 0.1, 10.0, priority=priority)
    return Waiting(key, Ask(request, PRODUCT), job, NO_LIMIT)


def turns(who: list[Waiting[str]], **running: int) -> list[str]:
    return [one.key for one in in_turn(who, running)]


def test_who_holds_more_than_its_share_lets_the_others_of_its_class_go_first() -> None:
    who = [waiting("a", "one"), waiting("b", "two"), waiting("c", "one"), waiting("d", "two")]

    assert turns(who, one=3, two=1) == ["b", "d", "a", "c"]
    assert turns(who, one=2, two=2) == ["a", "b", "c", "d"]


def test_a_tenant_that_runs_and_does_not_wait_has_a_share_too() -> None:
    who = [waiting("a", "one"), waiting("b", "two")]

    assert turns(who, one=3, two=1, three=8) == ["a", "b"]


def test_a_lower_class_does_not_overtake_for_it() -> None:
    who = [waiting("high", "one", 1), waiting("low", "two", 0)]

    assert turns(who, one=9) == ["high", "low"]


def test_shares_change_while_turns_are_taken() -> None:
    running = {"one": 1, "two": 1}
    who = [waiting(f"{tenant}{n}", tenant) for tenant in ("one", "two") for n in range(2)]

    taken = []
    for one in in_turn(who, running):
        taken.append(one.key)
        running[one.ask.request.tenant or ""] += 1
    assert taken == ["one0", "two0", "two1", "one1"]


@pytest.mark.parametrize("fair", [True, False], ids=["of two tenants", "of one tenant"])
def test_those_without_a_tenant_are_one_tenant_together(*, fair: bool) -> None:
    front = Front(instances({"a": 6}))
    for number in range(5):
        front.offer(f"nobody's/{number}")
    front.offer("runs", RequestView(tenant="one" if fair else None))
    front.offer("nobody's"), front.offer("somebody's", RequestView(tenant="one" if fair else None))

    first = "somebody's" if fair else "nobody's"
    assert [key for key, _ in front.end("nobody's/0")] == [first]


@given(
    st.lists(st.tuples(st.sampled_from(TENANTS), st.integers(0, 2)), max_size=20),
    st.dictionaries(st.sampled_from(("", "one", "two", "gone")), st.integers(1, 9)),
)
def test_everyone_gets_one_turn_in_its_class_and_in_order_within_its_tenant(
    who: list[tuple[str | None, int]], running: dict[str, int]
) -> None:
    who.sort(key=lambda one: -one[1])
    given_ = [waiting(str(n), tenant, level) for n, (tenant, level) in enumerate(who)]

    got = list(in_turn(given_, running))

    assert Counter(one.key for one in got) == Counter(one.key for one in given_)
    assert [one.job.priority for one in got] == [one.job.priority for one in given_]
    for tenant, level in set(who):
        own = [
            int(one.key)
            for one in got
            if (one.ask.request.tenant, one.job.priority) == (tenant, level)
        ]
        assert own == sorted(own)
