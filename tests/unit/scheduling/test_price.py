"""Who waits so that others meet their targets, and for how long."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_predictor import FAST, Known
from support.pool_case import Front, instances

from steelyard_router.scheduling import order
from steelyard_router.scheduling.candidate import Outlook, Terms
from steelyard_router.scheduling.pool import EVERY, GONE_THROUGH, PASSED_OVER
from steelyard_router.scheduling.precedent import LOOKED_AT
from steelyard_router.scheduling.price import DEAR, too_dear
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.room import ROOM
from steelyard_router.scheduling.strategy import MarginalDelay, build
from steelyard_router.scheduling.trial import Trial
from steelyard_router.scheduling.usual import PRIOR
from steelyard_router.scheduling.waiting import OnTimeout

CHAT = RequestView(
    workload="chat", slo=SLO(tpot_s=0.012), expected_output_tokens=100, prompt_tokens=500
)
"""With 20 of them a token takes 11 ms."""
BATCH = RequestView(
    workload="batch", slo=SLO(e2e_s=60.0), expected_output_tokens=600, prompt_tokens=1000
)
SHORT = replace(CHAT, prompt_tokens=10, expected_output_tokens=20)
SECONDS = st.floats(0, 100)


def front(chat: RequestView = CHAT, many: int = 20, max_wait_s: float = inf) -> Front:
    """Two instances that run so many chats each."""
    scheduler = instances({"a": 256, "b": 256}, 10**7, Known())
    made = Front(scheduler, strategy=MarginalDelay(), max_wait_s=max_wait_s)
    for number in range(2 * many):
        key, where = f"chat-{number}", "a" if number % 2 else "b"
        placed = scheduler.choose(chat, made.strategy, 0.0, among=frozenset(where))
        made.placed[key], made.leases[key] = where, placed.lease
        placed.lease.first_byte(0.0)
    return made


def ends(made: Front, name: str, now: float) -> list[str]:
    """All that run on it end; who goes in their place."""
    gone = []
    for key in [key for key in made.leases if made.placed[key] == name]:
        gone += [went for went, _ in made.end(key, now)]
    return gone


def test_who_would_make_others_miss_their_targets_waits_until_they_are_done() -> None:
    made = front()

    assert made.offer("batch", BATCH, 1.0) is None
    assert made.release(1.0) == []
    assert ends(made, "b", 2.0) == ["batch"]
    assert made.placed["batch"] == "b"


def test_who_costs_less_goes_on_meanwhile() -> None:
    made = front()
    made.offer("batch", BATCH, 1.0)
    made.offer("next", SHORT, 1.0)

    assert [key for key, _ in made.release(1.0)] == ["next"]


def test_beside_few_it_does_little_harm() -> None:
    assert front(many=1).offer("batch", BATCH, 1.0)


@pytest.mark.parametrize("tpot_s", [0.03, 0.005])
def test_nobody_waits_where_targets_are_met_with_ease_or_missed_anyway(tpot_s: float) -> None:
    assert front(replace(CHAT, slo=SLO(tpot_s=tpot_s))).offer("batch", BATCH, 1.0)


def test_nobody_waits_for_a_lower_class() -> None:
    assert front().offer("batch", replace(BATCH, priority=1), 1.0)


def test_what_is_worth_more_may_cost_others_more() -> None:
    heavy = replace(BATCH, weights=Weights(e2e=5.0))

    assert front().offer("batch", heavy, 1.0)


def test_requests_without_targets_wait_for_nobody_and_nobody_waits_for_them() -> None:
    free = replace(CHAT, slo=SLO())

    assert front().offer("free", replace(BATCH, slo=SLO()), 1.0)
    assert front(free).offer("batch", BATCH, 1.0)


def test_it_waits_only_where_it_is_known_what_it_costs() -> None:
    scheduler = instances({"a": 256}, 10**7, Known())
    made = Front(scheduler)  # places by the product, which knows no seconds
    for number in range(40):
        assert made.offer(f"chat-{number}", CHAT)

    assert made.offer("batch", BATCH) == "a"


def test_a_promoted_one_gets_its_turn_at_any_price() -> None:
    """Once EVERY times its work has begun."""
    made = front(max_wait_s=5.0)
    made.offer("batch", BATCH, 1.0)
    assert made.release(7.0) == []

    went = []
    for number in range(60 * EVERY):
        key = f"more-{number}"
        made.offer(key, SHORT, 8.0)
        went += [gone for gone, _ in made.release(8.0)]
        assert key in made.leases
        went += [gone for gone, _ in made.end(key, 8.0)]
    assert "batch" in went


@pytest.mark.parametrize("on_timeout", list(OnTimeout))
def test_it_is_refused_when_nobody_may_wait_for_longer(on_timeout: OnTimeout) -> None:
    made = front()
    made.limit = replace(made.limit, max_wait_s=5.0, on_timeout=on_timeout)
    made.offer("batch", BATCH, 1.0)

    assert made.release(6.1) == []
    assert made.pool.give_up(1.0 + made.limit.longest_s) == ["batch"]


def test_many_that_wait_are_looked_at_once() -> None:
    made = front()
    for number in range(40):
        made.offer(f"batch-{number}", replace(BATCH, prompt_tokens=1000 + number), 1.0)

    with patch.object(made.scheduler, "choose", wraps=made.scheduler.choose) as choose:
        made.release(1.0)

    assert choose.call_count <= 1 + 40 / LOOKED_AT
    assert made.pool.yielding == len(made.pool) == 40


def test_its_turn_comes_whatever_other_promoted_ones_are_given() -> None:
    made = front(max_wait_s=5.0)
    made.offer("batch", BATCH, 1.0)

    went = []
    for number in range(60 * EVERY):
        made.offer(f"old-{number}", SHORT, 2.0)  # so long ago that it is promoted at once
        went += [key for key, _ in made.release(8.0)]
        went += [key for key, _ in made.end(f"old-{number}", 8.0)]
    assert "batch" in went


def test_an_instance_that_was_kept_for_one_is_not_too_dear_for_it() -> None:
    made = front(max_wait_s=5.0)
    for name in ("a", "b"):
        made.scheduler.join(name, cache_tokens=18_000)
    made.offer("big", replace(BATCH, prompt_tokens=3000), 1.0)
    kept = made.placed[next(iter(made.leases))]
    made.release(7.0)

    went: list[str] = []
    chats = [key for key in made.leases if made.placed[key] == kept]
    while not went:
        made.offer(f"next-{len(chats)}", SHORT, 7.0)
        went = [key for key, _ in made.end(chats.pop(), 7.0) if key == "big"]
    assert len(chats) > 10


def test_one_that_would_take_others_all_the_way_past_their_targets_waits() -> None:
    many = replace(BATCH, sequences=96)
    long = replace(BATCH, prompt_tokens=200_000)

    assert front().offer("many", many, 1.0) is None
    assert front().offer("long", long, 1.0) is None


def test_nobody_waits_for_others_before_speeds_are_known() -> None:
    made = front()
    made.scheduler._predictor = Known({"a": FAST, "b": FAST}, trust=False)

    assert made.offer("batch", BATCH, 1.0)


def test_a_policy_on_trial_keeps_nobody_waiting() -> None:
    """Not even by what it wants to know: speeds that the one in force does not rely on yet."""
    made = front()
    made.scheduler._predictor = Known({"a": FAST, "b": FAST}, trust=False)

    trial, default = Trial(BATCH, MarginalDelay(), room=ROOM), build("Adaptive")
    alone = made.scheduler.choose(BATCH, default, 1.0, room=ROOM, explain=True)
    alone.lease.release(1.0)
    beside = made.scheduler.choose(BATCH, default, 1.0, room=ROOM, explain=True, trial=trial)

    assert beside.terms == alone.terms


def test_a_policy_on_trial_is_asked_with_its_own_priorities() -> None:
    made = front()
    trial = Trial(BATCH, MarginalDelay(), room=ROOM)

    decision = made.scheduler.choose(replace(BATCH, priority=1), MarginalDelay(), 1.0, trial=trial)

    assert decision.trial is None


def test_a_target_without_weight_is_nothing_to_wait_for() -> None:
    assert front().offer("batch", replace(BATCH, weights=Weights(e2e=0.0)), 1.0)


def test_who_could_go_but_for_room_does_not_count_as_waiting_for_others() -> None:
    made = front()
    made.offer("batch", BATCH, 1.0)
    made.release(1.0)
    assert made.pool.yielding == 1

    for name in ("a", "b"):
        made.scheduler.limit(name, 0)
    made.release(2.0)
    assert made.pool.yielding == 0


def test_one_whose_prompt_is_cached_waits_for_none_that_is_not() -> None:
    """It is looked at itself, now and then."""
    made = front()
    known = replace(SHORT, blocks=bytes(range(256)), prompt_tokens=2048)
    before = made.scheduler.choose(known, made.strategy, 0.0, among=frozenset("a")).lease
    before.first_byte(0.4)
    before.release(0.5)
    made.offer("cold", replace(SHORT, prompt_tokens=2000), 1.0)
    assert made.offer("cached", known, 1.0) is None

    gone = [key for _ in range(LOOKED_AT) for key, _ in made.release(1.0)]
    assert gone == ["cached"]


def test_however_many_wait_for_others_the_next_is_found() -> None:
    made = front()
    for number in range(2 * PASSED_OVER):
        made.offer(f"batch-{number}", replace(BATCH, prompt_tokens=2000 - number), 1.0)
    made.offer("short", SHORT, 1.0)

    assert [key for key, _ in made.release(1.0)] == ["short"]


def test_a_release_goes_through_so_many_of_them_and_no_more() -> None:
    """The next order brings those before the others who go sooner."""
    made = front()
    made.pool.update(order.build("FCFS", Random(1)), ROOM)
    for number in range(2 * GONE_THROUGH):
        made.offer(f"batch-{number}", BATCH, 1.0)
    made.offer("short", SHORT, 1.0)
    assert made.release(1.0) == []
    assert made.pool.yielding == GONE_THROUGH

    made.pool.update(order.build("ShortestPredicted", Random(1)), ROOM, at_once=10_000)
    assert [key for key, _ in made.release(1.0)] == ["short"]


# -- the rule -------------------------------------------------------------------------------------


def dear_at(rows: Sequence[tuple[float, float, float]], dear: float) -> bool:
    risk, own, added = (list(column) for column in zip(*rows, strict=True))
    nothing = [0.0] * len(rows)
    slots = list(range(len(rows)))
    outlook = Outlook(nothing, own, nothing, added, nothing, risk, PRIOR)
    return too_dear(Terms(slots, nothing, nothing, nothing, nothing, BATCH, 0.0, outlook), dear)


@given(
    rows=st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1, max_size=5),
    dear=SECONDS,
    more=SECONDS,
)
def test_who_may_cost_more_or_has_more_to_choose_from_is_not_sooner_too_dear(
    rows: list[tuple[float, float, float]], dear: float, more: float
) -> None:
    assert dear_at(rows, dear) >= dear_at(rows, dear + more)
    assert dear_at(rows[:1], dear) >= dear_at(rows, dear)
    assert not dear_at(rows, inf)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((1.00, 1.0, 0.0), False),
        ((1.01, 1.0, 0.0), True),
        ((1.00 / 601, 1.0, 1.0), False),
        ((1.01 / 601, 1.0, 1.0), True),
        ((0.0, 9.0, 9.0), False),
    ],
)
def test_it_is_too_dear_above_its_share_of_what_the_request_has_to_gain(
    row: tuple[float, float, float], expected: bool
) -> None:
    """`row` in that share."""
    risk, own_s, added_s = row

    assert dear_at([(risk * DEAR * BATCH.weights.e2e, own_s, added_s)], ROOM.dear) is expected
