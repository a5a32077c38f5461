"""Whether an instance can take a request at once."""

import pytest
from support.pool_case import PRODUCT, instances, shown_width

from steelyard_router.scheduling.refusal import NoRoom
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import ENDLESS, Room
from steelyard_router.scheduling.scheduler import Scheduler

CACHE_TOKENS = 1000


def fits(scheduler: Scheduler, request: RequestView, room: Room | None = None) -> bool:
    return scheduler.with_room(request, room or Room(), 0.0) == {"a"}


def busy(scheduler: Scheduler, prompt_tokens: int = 1, sequences: int = 1) -> None:
    scheduler.choose(RequestView(prompt_tokens=prompt_tokens, sequences=sequences), PRODUCT, 0.0)


def test_an_engine_of_unknown_width_takes_any_number() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    scheduler.join("a")
    for _ in range(300):
        busy(scheduler)

    assert fits(scheduler, RequestView())


def test_no_more_sequences_than_it_runs() -> None:
    scheduler = instances({"a": 4})
    busy(scheduler, sequences=2)

    assert fits(scheduler, RequestView(sequences=2))
    assert not fits(scheduler, RequestView(sequences=3))


def test_those_of_other_routers_count() -> None:
    scheduler = instances({"a": 4})
    scheduler.observe("a", running=3, waiting=0, now=0.0)

    assert fits(scheduler, RequestView())
    assert not fits(scheduler, RequestView(sequences=2))


def test_the_memory_holds_what_is_there_and_what_comes_with_its_expected_reply() -> None:
    scheduler = instances({"a": 100}, CACHE_TOKENS)
    busy(scheduler, prompt_tokens=300)

    room = Room(kv_share=0.5)
    assert fits(scheduler, RequestView(prompt_tokens=200), room)
    assert not fits(scheduler, RequestView(prompt_tokens=201), room)
    assert fits(scheduler, RequestView(prompt_tokens=50, expected_output_tokens=150.0), room)
    assert not fits(scheduler, RequestView(prompt_tokens=50, expected_output_tokens=151.0), room)
    twice = RequestView(prompt_tokens=50, expected_output_tokens=80.0, sequences=2)
    assert not fits(scheduler, twice, room)


def test_prompts_that_are_not_computed_yet_take_no_longer_than_the_bound() -> None:
    scheduler = instances({"a": 100})
    busy(scheduler, prompt_tokens=20_000)
    (load,) = scheduler.snapshot(0.0)
    queued_s = load.coefficients.prefill(20_000, 20_000**2 / 2)

    assert queued_s > 0
    assert fits(scheduler, RequestView(), Room(queued_s=1.1 * queued_s))
    assert not fits(scheduler, RequestView(), Room(queued_s=0.5 * queued_s))


@pytest.mark.parametrize(
    "request_view",
    [
        RequestView(prompt_tokens=CACHE_TOKENS),
        RequestView(sequences=5),
        RequestView(expected_output_tokens=1e6),
    ],
    ids=["long prompt", "many sequences", "long reply"],
)
def test_an_idle_one_takes_whatever_comes(request_view: RequestView) -> None:
    scheduler = instances({"a": 4}, CACHE_TOKENS)

    assert fits(scheduler, request_view)
    busy(scheduler)
    assert not fits(scheduler, request_view)


def test_no_more_of_a_workload_than_its_bound_and_of_others_as_many_as_there_is_room_for() -> None:
    scheduler = instances({"a": 9})
    room = Room(of_workload={"batch": 2})
    for _ in range(2):
        assert fits(scheduler, RequestView(workload="batch"), room)
        scheduler.choose(RequestView(workload="batch"), PRODUCT, 0.0)

    assert not fits(scheduler, RequestView(workload="batch"), room)
    assert fits(scheduler, RequestView(workload="chat"), room)


def test_one_request_of_more_sequences_than_its_bound_goes_where_its_workload_has_none() -> None:
    scheduler, room = instances({"a": 9}), Room(of_workload={"batch": 2})
    busy(scheduler)

    assert fits(scheduler, RequestView(workload="batch", sequences=3), room)
    scheduler.choose(RequestView(workload="batch"), PRODUCT, 0.0)
    assert not fits(scheduler, RequestView(workload="batch", sequences=3), room)


@pytest.mark.parametrize(("given", "taken"), [(2, 2), (9, 4)])
def test_a_given_bound_holds_beside_what_the_engine_was_seen_to_run(given: int, taken: int) -> None:
    scheduler = instances({"a": 4})
    busy(scheduler, sequences=taken - 1)

    assert fits(scheduler, RequestView(), Room(sequences=given))
    busy(scheduler)
    assert not fits(scheduler, RequestView(), Room(sequences=given))


def test_without_a_bound_there_is_always_room() -> None:
    scheduler = instances({"a": 1}, CACHE_TOKENS)
    busy(scheduler, prompt_tokens=20 * CACHE_TOKENS, sequences=50)

    assert fits(scheduler, RequestView(prompt_tokens=CACHE_TOKENS), ENDLESS)


def test_memory_of_unknown_size_bounds_nothing() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    scheduler.join("a")
    busy(scheduler, prompt_tokens=10**7)

    assert fits(scheduler, RequestView(prompt_tokens=10**7))
    scheduler.join("a", cache_tokens=CACHE_TOKENS)
    assert not fits(scheduler, RequestView())


def test_what_it_has_cached_takes_less_room_where_such_is_held_once_for_many() -> None:
    scheduler = instances({"a": 100}, 10 * CACHE_TOKENS)
    prompt = RequestView(blocks=bytes(range(64)), prompt_tokens=8 * 64)
    for _ in range(10):
        scheduler.choose(prompt, PRODUCT, 0.0).lease.first_byte(0.0)

    def placed(usage: float) -> bool:
        scheduler.observe("a", running=10, waiting=0, now=0.0, kv_usage=usage)
        room = Room(kv_share=usage + 0.03)
        try:
            lease = scheduler.choose(prompt, PRODUCT, 0.0, room=room).lease
        except NoRoom:
            return False
        lease.release(0.0)
        return True

    assert placed(512 / 10_000)
    assert not placed(5120 / 10_000)


def test_one_that_is_closed_has_none() -> None:
    scheduler = instances({"a": 4})
    scheduler.limit("a", 0)

    assert not fits(scheduler, RequestView())


def test_what_was_reported_too_long_ago_does_not_count() -> None:
    scheduler = instances({"a": 4})
    scheduler.observe("a", running=4, waiting=9, now=0.0)

    assert not scheduler.with_room(RequestView(), Room(), 10.0)
    assert scheduler.with_room(RequestView(), Room(), 20.0) == {"a"}


def test_only_those_asked_about() -> None:
    scheduler = instances({"a": 1, "b": 1, "c": 1})
    shown_width(scheduler, "b", 1)

    found = scheduler.with_room(RequestView(), Room(), 0.0, among=frozenset({"a", "b", "gone"}))
    assert found == {"a", "b"}
