"""Who goes first, order by order, and the rule about those that are too late."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import NOW_S, job, keys, lane, lanes, queues

from steelyard_router.scheduling.order import (
    AUTO,
    FCFS,
    ORDERS,
    Deadline,
    Job,
    Lane,
    LeastLaxity,
    Order,
    Patience,
    Schedule,
    ShortestPredicted,
    UrgentFirst,
    arrange,
    build,
)
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.overdue import PATIENCE
from steelyard_router.scheduling.order.urgent_first import urgent

SHORT = Schedule(evaluations=40)
FREE = lane(0.0, token_s=0.01)
"""Ten tokens after the first take 0.1 s, as a prompt does."""


def order(how: Order, jobs: list[Job], on: Lane = FREE) -> list[str]:
    return keys(arrange(how, jobs, on, NOW_S))


def test_first_come_first_served() -> None:
    jobs = [job("b", waited_s=1), job("c"), job("a", waited_s=2, ttft_s=9)]

    assert order(FCFS(), jobs) == ["a", "b", "c"]


def test_deadlines_count_from_the_arrival_and_the_nearer_of_two_targets_is_one() -> None:
    jobs = [
        job("none"),
        job("in 3 s", waited_s=1, ttft_s=4),
        job("in 2 s", ttft_s=5, e2e_s=2),
        job("in 1 s", waited_s=8, e2e_s=9),
    ]

    assert order(Deadline(), jobs) == ["in 1 s", "in 2 s", "in 3 s", "none"]


def test_laxity_is_the_deadline_less_the_work_until_then() -> None:
    jobs = [
        job("due sooner", ttft_s=2.0),  # may start in 1.9 s
        job("long prompt", ttft_s=3.0, prefill_s=1.5),  # in 1.5 s
        job("long answer", e2e_s=4.0, output_tokens=301),  # in 0.9 s
    ]

    assert order(LeastLaxity(), jobs) == ["long answer", "long prompt", "due sooner"]
    assert order(Deadline(), jobs) == ["due sooner", "long prompt", "long answer"]


def test_shortest_predicted_counts_prompt_and_answer() -> None:
    jobs = [job("b", prefill_s=0.2), job("c", output_tokens=51), job("a", output_tokens=2)]

    assert order(ShortestPredicted(), jobs) == ["a", "b", "c"]


def test_urgent_ones_go_first_by_deadline_and_the_rest_by_length() -> None:
    jobs = [
        job("long", output_tokens=500, e2e_s=60),
        job("short", output_tokens=2, e2e_s=60),
        job("urgent", waited_s=0.3, ttft_s=0.5),
        job("more urgent", waited_s=0.35, ttft_s=0.5),
        job("in no hurry yet", output_tokens=3, ttft_s=5),
        job("too late", waited_s=0.45, output_tokens=4, ttft_s=0.5),
    ]

    assert order(UrgentFirst(), jobs) == [
        "more urgent", "urgent", "short", "in no hurry yet", "too late", "long",
    ]  # fmt: skip


def test_who_cannot_make_it_goes_behind_those_who_can() -> None:
    jobs = [job("too late", waited_s=0.95, ttft_s=1), job("can", ttft_s=9)]

    assert order(Deadline(), jobs) == ["can", "too late"]
    assert order(LeastLaxity(), jobs) == ["can", "too late"]


def test_whether_it_can_depends_on_when_the_lane_is_free() -> None:
    jobs = [job("soon", ttft_s=1), job("later", ttft_s=9)]

    assert order(Deadline(), jobs) == ["soon", "later"]
    assert order(Deadline(), jobs, lane(1.0)) == ["later", "soon"]
    assert order(Deadline(), jobs, lane(0.0, queued_s=1.0)) == ["later", "soon"]


def test_an_urgent_one_has_little_left_of_its_target_or_little_at_all() -> None:
    at = Moment(NOW_S, NOW_S, 0.01)

    def is_urgent(ttft_s: float, waited_s: float = 0.0) -> bool:
        one = job("a", waited_s=waited_s, prefill_s=0.0, output_tokens=1.0, ttft_s=ttft_s)
        return urgent(one, at)

    assert is_urgent(ttft_s=0.99)
    assert not is_urgent(ttft_s=1.01)
    assert is_urgent(ttft_s=50, waited_s=35.1)
    assert not is_urgent(ttft_s=50, waited_s=34.9)
    assert not is_urgent(ttft_s=50, waited_s=50.1)


def test_how_long_it_may_wait_goes_by_the_longest_reply_that_it_may_have() -> None:
    one = job("a", prefill_s=1.0, output_tokens=101, most_output_tokens=501, e2e_s=60)

    assert one.latest_start_s(0.01) == NOW_S + 60 - 1 - 5
    assert one.service_s(0.01) == 2.0


def test_an_overdue_one_is_let_in_when_it_is_its_share_of_the_work() -> None:
    late = [job(f"late{waited}", waited_s=waited, ttft_s=1) for waited in (20, 30)]
    viable = [job(f"v{due}", ttft_s=due) for due in range(1, 6)]
    how = Deadline(Patience(after_s=15, every=3))

    assert order(how, [*late, *viable]) == ["v1", "v2", "late30", "v3", "v4", "late20", "v5"]
    since = lane(0.0, since_s=2 * viable[0].service_s(0.01))
    assert order(how, [*late, *viable], since)[:4] == ["late30", "v1", "v2", "late20"]


def test_one_that_takes_long_is_let_in_less_often() -> None:
    long = job("late", waited_s=20, output_tokens=31, ttft_s=1)
    viable = [job(f"v{due}", ttft_s=due) for due in range(1, 8)]

    found = order(Deadline(Patience(after_s=15, every=3)), [long, *viable])

    assert long.service_s(0.01) == 2 * viable[0].service_s(0.01)
    assert found.index("late") == 2 * 2


def test_before_it_is_overdue_a_late_one_is_not_let_in() -> None:
    jobs = [job("late", waited_s=14, ttft_s=1), *(job(f"v{due}", ttft_s=due) for due in (5, 6, 7))]

    assert order(Deadline(Patience(after_s=15, every=1)), jobs)[-1] == "late"


def test_who_has_no_target_becomes_overdue_too() -> None:
    jobs = [job("none", waited_s=16), *(job(f"v{due}", ttft_s=due) for due in (5, 6, 7))]

    assert order(Deadline(Patience(after_s=15, every=2)), jobs) == ["v5", "none", "v6", "v7"]


def test_an_overdue_one_does_not_overtake_a_higher_class() -> None:
    jobs = [job("late", waited_s=99, ttft_s=1), job("high", ttft_s=9, priority=1)]

    assert order(Deadline(Patience(every=1)), jobs) == ["high", "late"]


def test_under_lasting_overload_the_last_one_gets_its_turn() -> None:
    """One start a second, for which a fresh request is always there."""
    waiting, starts = [job("late", waited_s=50, ttft_s=1)], []
    since_s = 0.0
    for second in range(PATIENCE.every):
        waiting.append(job(f"v{second}", ttft_s=5))
        first = arrange(Deadline(), waiting, lane(0.0, since_s=since_s), NOW_S)[0]
        waiting.remove(first)
        starts.append(first.key)
        since_s = 0.0 if first.key == "late" else since_s + first.service_s(0.01)

    assert starts.index("late") == pytest.approx(PATIENCE.every - 1, abs=1)


@pytest.mark.parametrize("name", ORDERS)
@given(data=st.data())
def test_an_order_has_everyone_once_and_keeps_to_the_classes(
    name: str, data: st.DataObject
) -> None:
    jobs, on = data.draw(queues()), data.draw(lanes())

    found = arrange(build(name, Random(1), schedule=SHORT), jobs, on, NOW_S)

    assert sorted(keys(found)) == sorted(keys(jobs))
    priorities = [each.priority for each in found]
    assert priorities == sorted(priorities, reverse=True)


@pytest.mark.parametrize("name", ORDERS)
def test_equals_go_by_arrival(name: str) -> None:
    jobs = [job(str(waited), waited_s=waited, ttft_s=waited + 1) for waited in (1, 3, 2)]

    assert order(build(name, Random(1)), jobs) == ["3", "2", "1"]


def test_auto_is_the_first_order_and_an_unknown_name_says_which_there_are() -> None:
    assert build(AUTO, Random(1)).name == ORDERS[0]
    assert [build(name, Random(1)).name for name in ORDERS] == list(ORDERS)
    with pytest.raises(ValueError, match="UrgentFirst"):
        build("Fastest", Random(1))


def test_letting_in_nobody_at_all_is_not_a_rule() -> None:
    with pytest.raises(ValueError, match="every"):
        Patience(every=0)
