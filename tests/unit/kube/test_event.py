"""The Event writer against an API server in memory; tests/cluster has it against a real one."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_kube import EVENT_TTL_S, MemoryKube

from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import Event, EventWriter, Posting, Subject
from steelyard_router.kube.resource import EVENT, Object

POLICY = Subject("steelyard.io/v1alpha1", "SLOPolicy", "ai", "gold", "uid-1")
SERVICE = Subject("steelyard.io/v1alpha1", "LLMService", "ai", "llama", "uid-2")
FIRED = Event(
    involved=POLICY,
    reason="SLOAlertFiring",
    message="p95 Score 812,345 > 500,000",
    type="Warning",
    action="Alert",
    occurrence="2026-01-01/0",
    key=("uid-2", "score-p95", "chat"),
    related=SERVICE,
)
DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class Desk:
    """A clock, a server, and writers on it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.kube = MemoryKube(lambda: self.now)
        self.counted: list[tuple[str, Posting]] = []

    def writer(self, instance: str = "pod-1") -> EventWriter:
        return EventWriter(
            self.kube,
            component="steelyard-router",
            instance=instance,
            wall=lambda: self.now,
            clock=lambda: self.now,
            counted=lambda *outcome: self.counted.append(outcome),
        )

    @property
    def events(self) -> list[Object]:
        return self.kube.of_kind(EVENT)

    @property
    def event(self) -> Object:
        (event,) = self.events
        return event


@pytest.fixture
def desk() -> Desk:
    return Desk()


def occurrence(number: int, **changes: Any) -> Event:
    return replace(FIRED, occurrence=f"2026-01-01/{number}", **changes)


async def test_an_event_says_all_that_describe_needs(desk: Desk) -> None:
    assert await desk.writer().post(FIRED)

    event = desk.event
    assert event["involvedObject"] == {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": "SLOPolicy",
        "namespace": "ai",
        "name": "gold",
        "uid": "uid-1",
    }
    assert event["related"]["kind"] == "LLMService"
    assert event["metadata"]["name"] == FIRED.name
    assert event["source"] == {"component": "steelyard-router"}
    assert event["reportingInstance"] == "pod-1"
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2027-01-15T08:00:00Z"
    assert (event["count"], event["type"], event["action"]) == (1, "Warning", "Alert")


async def test_what_happens_again_raises_the_count_of_the_one_event(desk: Desk) -> None:
    writer = desk.writer()
    for number in range(3):
        desk.now += 60
        assert await writer.post(occurrence(number, message=f"now {number}"))

    assert (desk.event["count"], desk.event["message"]) == (3, "now 2")
    assert desk.event["firstTimestamp"] == "2027-01-15T08:01:00Z"
    assert desk.event["lastTimestamp"] == "2027-01-15T08:03:00Z"


async def test_one_occurrence_is_posted_once_whoever_posts_it_again(desk: Desk) -> None:
    writer = desk.writer()

    assert [await writer.post(FIRED), await writer.post(FIRED)] == [True, False]
    assert await desk.writer("the next process").write(FIRED) is Posting.KNOWN
    assert desk.event["count"] == 1


async def test_two_writers_at_once_count_an_occurrence_once(desk: Desk) -> None:
    one, other = desk.writer("pod-1"), desk.writer("pod-2")

    for number in range(5):
        posted = await asyncio.gather(*(w.post(occurrence(number)) for w in (one, other)))
        assert sorted(posted) == [False, True]

    assert desk.event["count"] == 5


async def test_different_occurrences_at_once_are_both_counted(desk: Desk) -> None:
    writers = [desk.writer(f"pod-{n}") for n in range(3)]

    await asyncio.gather(*(w.post(occurrence(n)) for n, w in enumerate(writers)))

    assert desk.event["count"] == 3


async def test_an_answer_that_was_lost_costs_no_duplicate(desk: Desk) -> None:
    writer = desk.writer()
    for number in range(2):  # once for the create, once for the patch
        desk.kube.lose_answers = 1
        with pytest.raises(KubeError):
            await writer.post(occurrence(number))
        assert not await writer.post(occurrence(number))

    assert desk.event["count"] == 2


async def test_in_order_an_older_occurrence_comes_too_late(desk: Desk) -> None:
    writer = desk.writer()
    await writer.post(occurrence(7, ordered=True))

    late = [
        await w.write(occurrence(6, ordered=True)) for w in (writer, desk.writer("woken up late"))
    ]

    assert late == [Posting.KNOWN, Posting.KNOWN]
    assert desk.event["metadata"]["annotations"]["steelyard.io/occurrence"].endswith("7")


async def test_an_expired_event_starts_anew(desk: Desk) -> None:
    writer = desk.writer()
    await writer.post(occurrence(0))
    await writer.post(occurrence(1))
    desk.now += EVENT_TTL_S + 1

    assert await writer.post(occurrence(2))
    assert desk.event["count"] == 1


async def test_repeats_keep_an_event_alive(desk: Desk) -> None:
    writer = desk.writer()
    for number in range(5):
        await writer.post(occurrence(number))
        desk.now += 3300

    assert desk.event["count"] == 5


async def test_an_object_that_flaps_gets_25_events_and_then_one_in_five_minutes(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    writer = desk.writer()
    outcomes = [await writer.write(occurrence(number)) for number in range(30)]

    assert outcomes == [Posting.POSTED] * 25 + [Posting.DROPPED] * 5
    assert desk.counted.count(("SLOAlertFiring", Posting.DROPPED)) == 5
    assert len(caplog.records) == 1
    desk.now += 301
    assert await writer.post(occurrence(31))
    assert not await writer.post(occurrence(32))


async def test_one_objects_events_leave_anothers_alone(desk: Desk) -> None:
    writer = desk.writer()
    for number in range(40):
        await writer.post(occurrence(number))

    assert await writer.post(replace(FIRED, involved=SERVICE))


async def test_known_occurrences_and_failures_take_nothing_from_the_burst(desk: Desk) -> None:
    writer = desk.writer()
    await writer.post(FIRED)
    for _ in range(100):
        await desk.writer().post(FIRED)
    desk.kube.refuse = KubeError(403, "Forbidden", "no")
    for _ in range(100):
        with pytest.raises(KubeError):
            await writer.post(occurrence(1))
    desk.kube.refuse = None

    assert [await writer.post(occurrence(n)) for n in range(1, 26)] == [True] * 24 + [False]


async def test_an_unreachable_server_is_an_error_and_nothing_else(desk: Desk) -> None:
    desk.kube.away = True
    with pytest.raises(KubeError) as caught:
        await desk.writer().post(FIRED)

    assert caught.value.unreachable


def test_names_follow_from_object_key_and_reason() -> None:
    names = {
        FIRED.name,
        replace(FIRED, reason="SLOAlertResolved").name,
        replace(FIRED, key=("uid-2", "score-p95", "batch")).name,
        replace(FIRED, involved=replace(POLICY, uid="another")).name,
    }

    assert len(names) == 4
    assert replace(FIRED, message="other", occurrence="other").name == FIRED.name


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]{1,63}){0,4}", fullmatch=True))
def test_names_are_valid_however_long_the_objects_is(name: str) -> None:
    made = replace(FIRED, involved=replace(POLICY, name=name[:253].rstrip("-."))).name

    assert len(made) <= 253
    assert DNS_1123.fullmatch(made)
    assert ".." not in made


@pytest.mark.parametrize(
    ("message", "posted"),
    [
        ("na\u00efve \u4e2d\u6587", "na?ve ??"),
        ("two\nlines\tand tabs", "two lines and tabs"),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1021 + "..."),
        ("\u4e2d" * 1025, "?" * 1021 + "..."),
    ],
)
async def test_messages_are_ascii_and_short(desk: Desk, message: str, posted: str) -> None:
    await desk.writer().post(replace(FIRED, message=message))

    assert desk.event["message"] == posted


async def test_when_it_happened_may_lie_before_when_it_is_posted(desk: Desk) -> None:
    await desk.writer().post(replace(FIRED, at=desk.now - 600))

    assert desk.event["lastTimestamp"] == "2027-01-15T07:50:00Z"
