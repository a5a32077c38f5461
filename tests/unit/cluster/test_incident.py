from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.cluster.incident import Incident, Memory
from steelyard_router.kube.event import OCCURRENCE, Event, Subject
from steelyard_router.kube.resource import Object

SERVICE = Subject("steelyard.io/v1alpha1", "LLMService", "ai", "llama", "uid-2")
POLICY = Subject("steelyard.io/v1alpha1", "SLOPolicy", "ai", "gold", "uid-1")
INCIDENT = Incident(
    service=SERVICE,
    policy=POLICY,
    alert="score-p95",
    workload="chat",
    rule="cafe",
    severity="Warning",
    message="p95 Score 812,345 > 500,000",
    threshold=500_000.0,
    since_ms=1_800_000_000_123,
    notified_ms=1_800_000_900_456,
    repeats=3,
)


def stored(event: Event) -> Object:
    """As an API server gives it back."""
    return {
        "metadata": {"annotations": {**event.annotations, OCCURRENCE: event.occurrence}},
        "involvedObject": event.involved.reference(),
        "related": event.related and event.related.reference(),
        "reason": event.reason,
        "message": event.message,
        "type": event.type,
    }


@given(
    since=st.integers(0, 4_000_000_000_000),
    repeats=st.integers(0, 99_999),
    threshold=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    policy=st.sampled_from([POLICY, None]),
)
def test_an_event_of_the_service_brings_all_of_it_back(
    since: int, repeats: int, threshold: float | None, policy: Subject | None
) -> None:
    incident = replace(
        INCIDENT, since_ms=since, repeats=repeats, threshold=threshold, policy=policy
    )

    assert Incident.of(stored(incident.firing()[0]), SERVICE) == incident


@given(st.lists(st.tuples(st.integers(0, 4_000_000_000_000), st.integers(0, 99_999)), min_size=2))
def test_occurrences_sort_as_time_does(moments: list[tuple[int, int]]) -> None:
    def text(moment: tuple[int, int]) -> str:
        since, repeats = moment
        return replace(INCIDENT, since_ms=since, repeats=repeats).firing()[0].occurrence

    assert sorted(moments) == sorted(moments, key=text)


def test_a_firing_begins_and_an_end_finishes_at_the_service() -> None:
    kinds = [
        [event.involved.kind for event in events]
        for events in (INCIDENT.firing(), INCIDENT.resolved("over", 0))
    ]

    assert kinds == [["LLMService", "SLOPolicy"], ["SLOPolicy", "LLMService"]]
    assert [e.related for e in INCIDENT.firing()] == [POLICY, SERVICE]


def test_without_a_policy_there_is_only_the_service() -> None:
    assert len(replace(INCIDENT, policy=None).firing()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": None},
        {"annotations": {OCCURRENCE: "1"}},
        {"annotations": {**INCIDENT.firing()[0].annotations, OCCURRENCE: "yesterday/1"}},
        {"annotations": {**INCIDENT.firing()[0].annotations, OCCURRENCE: ""}},
    ],
)
def test_an_event_that_is_none_of_ours_is_passed_over(change: Any) -> None:
    event = stored(INCIDENT.firing()[0]) | {"metadata": change}

    assert Memory.of([event, event | {"reason": "SLOAlertResolved"}], SERVICE) == Memory((), {})


def test_what_has_not_ended_fires_and_all_starts_are_remembered() -> None:
    ended = replace(INCIDENT, workload="batch")
    again = replace(INCIDENT, workload="code", since_ms=INCIDENT.since_ms + 5)
    before = replace(again, since_ms=INCIDENT.since_ms)
    events = [
        INCIDENT.firing()[0],
        ended.firing()[0],
        ended.resolved("over", 0)[1],
        again.firing()[0],
        before.resolved("over", 0)[1],
        replace(INCIDENT, workload="late", since_ms=9).resolved("its firing has expired", 0)[1],
    ]

    memory = Memory.of(map(stored, events), SERVICE)

    assert {i.workload for i in memory.firing} == {"chat", "code"}
    assert memory.newest_ms == {
        ("score-p95", "chat"): INCIDENT.since_ms,
        ("score-p95", "batch"): INCIDENT.since_ms,
        ("score-p95", "code"): INCIDENT.since_ms + 5,
        ("score-p95", "late"): 9,
    }
