"""Drift of predictions is told in an Event, once a span for all replicas together."""

import asyncio

from support.memory_kube import MemoryKube
from support.virtual import in_virtual_time

from steelyard_router.cluster.drift import SPAN_S, DriftTeller, drift_event
from steelyard_router.config import Kubernetes, ObjectRef
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import EventWriter
from steelyard_router.observability.drift import HOLD_S, Drift, Monitor

SETTINGS = Kubernetes(
    namespace="ns",
    config_map="chat-router",
    router_service="chat-router",
    lease="chat-router",
    service=ObjectRef(name="chat", uid="u1"),
)
SLOW = Drift(Monitor.CLOCK, 5.0, ("i0 takes 2.0 times as long for the same work as before",))
CALM = Drift(Monitor.ERROR, 0.0)
ODD = Drift(Monitor.INPUT, 5.0, ("chat: prompts have 3.0 times the usual tokens",))


def posted(states: list[Drift], seconds: float, *, replicas: int = 1, outage_s: float = 0.0) -> int:
    """Occurrences after so many seconds of that."""

    async def scenario() -> int:
        def now() -> float:
            return asyncio.get_running_loop().time()

        kube = MemoryKube(now)
        tellers = [
            DriftTeller(
                EventWriter(kube, component="r", instance=f"p{number}", wall=now, clock=now),
                SETTINGS,
                lambda: states,
                clock=now,
                wall=now,
            )
            for number in range(replicas)
        ]
        running = [asyncio.create_task(teller.run()) for teller in tellers]
        kube.refuse = KubeError(500, "Oops", "not now") if outage_s else None
        await asyncio.sleep(outage_s)
        kube.refuse = None
        await asyncio.sleep(seconds - outage_s)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return len(kube.occurrences)

    return in_virtual_time(scenario())


def test_what_does_not_drift_is_not_told() -> None:
    assert posted([CALM], 100) == 0


def test_each_monitor_that_drifts_is_told_once_in_a_span() -> None:
    assert posted([SLOW, CALM, ODD], SPAN_S / 2) == 2
    assert posted([SLOW], 2.5 * SPAN_S) == 3


def test_what_is_over_within_a_minute_is_not_told() -> None:
    assert posted([SLOW], HOLD_S - 1) == 0


def test_replicas_that_see_the_same_tell_it_once() -> None:
    assert posted([SLOW], SPAN_S / 2, replicas=3) == 1


def test_an_api_server_that_is_away_is_waited_for() -> None:
    assert posted([SLOW], SPAN_S / 2, outage_s=120) == 1


def test_the_event_is_on_the_service_and_says_what_has_drifted() -> None:
    event = drift_event(SETTINGS, SLOW, 1000.0)

    assert (event.involved.kind, event.involved.uid) == ("LLMService", "u1")
    assert (event.reason, event.type) == ("PredictionDrift", "Warning")
    assert "i0 takes 2.0 times as long" in event.message
    assert event.name != drift_event(SETTINGS, ODD, 1000.0).name
