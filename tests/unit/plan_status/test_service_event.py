"""Events of a service: on a change, once, and known again after a crash in between."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from support.manifests import service
from support.seen import (
    NOW,
    Tree,
    deployment,
    ended,
    pod,
    report,
    router_service,
    running,
    waiting,
)

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import plan
from steelyard_operator.plan.status import EventIntent, Observed, StatusPlan, service_status


def seen(engine: Tree, *pods: Tree, **more: Any) -> Observed:
    return Observed(
        deployments={"engine": engine, "router": deployment("router")},
        pods={"engine": pods},
        services={"router": router_service()},
        reports=more.pop("reports", (report(),)),
        revision="abc",
        **more,
    )


class Watched:
    """One service whose statuses are stored as they come."""

    def __init__(self, **spec: Any) -> None:
        self.service: LLMService = service(replicas=2, **spec)
        head = self.service.metadata.model_copy(update={"uid": "u", "generation": 1})
        self.service = self.service.model_copy(update={"metadata": head})
        self.now: datetime = NOW

    def look(self, observed: Observed) -> StatusPlan:
        """Without storing: as an operator that is stopped before its write."""
        return service_status(
            self.service, plan([self.service], []).services[0], observed, now=self.now
        )

    def step(self, observed: Observed) -> tuple[EventIntent, ...]:
        made = self.look(observed)
        self.service = self.service.model_copy(update={"status": made.status})
        self.now += timedelta(seconds=90)
        return made.events


def reasons(events: tuple[EventIntent, ...]) -> list[str]:
    return [event.reason for event in events]


ROLLING = deployment(ready=1, updated=1, progress="ReplicaSetUpdated", revision=2)
CRASH = pod("bad", container=waiting("CrashLoopBackOff", restartCount=3, lastState=ended(1)))


def test_a_rollout_is_told_when_it_starts_and_when_it_ends() -> None:
    watched = Watched()

    told = [
        reasons(watched.step(observed))
        for observed in (
            seen(deployment()),
            seen(ROLLING, pod(container=running())),
            seen(ROLLING, pod(container=running())),
            seen(deployment(revision=2)),
            seen(deployment(revision=2)),
        )
    ]

    assert told == [[], ["RolloutStarted"], [], ["RolloutCompleted"], []]


def test_scaling_is_no_rollout() -> None:
    watched = Watched()

    told = [
        *watched.step(seen(deployment())),
        *watched.step(seen(deployment(desired=4, replicas=4, ready=2), pod(container=running()))),
        *watched.step(seen(deployment(desired=4))),
    ]

    assert told == []


def test_a_rollout_that_runs_out_of_time_is_not_called_completed() -> None:
    watched = Watched()
    watched.step(seen(ROLLING))

    late = deployment(ready=1, updated=1, progress="ProgressDeadlineExceeded", revision=2)

    assert watched.step(seen(late)) == ()


def test_a_failed_load_is_told_once_with_its_pod() -> None:
    watched = Watched()
    first = deployment(ready=0, progress="ReplicaSetUpdated")

    watched.step(seen(first, pod("bad", container=running())))
    (event,) = watched.step(seen(first, CRASH))
    again = watched.step(seen(first, CRASH))

    assert (event.reason, event.type, event.about) == ("ModelLoadFailed", "Warning", "service")
    assert "pod bad" in event.message
    assert again == ()


def test_a_configuration_that_is_refused_is_told_once() -> None:
    watched = Watched()
    refused = seen(deployment(), reports=(report(revision="old", config_error="bad"),))

    assert reasons(watched.step(refused)) == ["ConfigReloadFailed"]
    assert watched.step(refused) == ()


def test_a_repaired_child_is_named() -> None:
    repaired = (("Service", "chat-router", "12"), ("Deployment", "chat-engine", "11"))

    (event,) = Watched().look(seen(deployment(), corrected=repaired)).events

    assert event.reason == "DriftCorrected"
    assert "Deployment chat-engine, Service chat-router" in event.message


@pytest.mark.parametrize(
    ("before", "then"),
    [
        (seen(deployment()), seen(ROLLING)),
        (seen(ROLLING), seen(deployment(revision=2))),
        (seen(deployment(ready=0)), seen(deployment(ready=0), CRASH)),
        (
            seen(deployment()),
            seen(deployment(), reports=(report(revision="old", config_error="bad"),)),
        ),
    ],
)
def test_an_operator_that_is_stopped_before_it_stored_the_status_repeats_the_same_occurrence(
    before: Observed, then: Observed
) -> None:
    watched = Watched()
    watched.step(before)

    first = watched.look(then).events
    watched.now += timedelta(seconds=30)
    second = watched.look(then).events

    assert first
    assert [event.occurrence for event in first] == [event.occurrence for event in second]


def test_the_next_rollout_is_another_occurrence() -> None:
    watched = Watched()
    third = deployment(ready=1, updated=1, progress="ReplicaSetUpdated", revision=3)

    watched.step(seen(deployment()))
    (one,) = watched.step(seen(ROLLING))
    watched.step(seen(deployment(revision=2)))
    (two,) = watched.step(seen(third))

    assert one.occurrence != two.occurrence
