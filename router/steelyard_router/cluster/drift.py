"""Tells the cluster, by an Event on the LLMService, that latency predictions drift.

Every replica tells of what it sees itself. Within SPAN_S a monitor's drift is one occurrence for
all of them, whoever posts first; while it lasts, each span raises the Event's count, which also
keeps it from expiring. What was posted is read from the Event, so neither another replica nor a
restart repeats it. No Event tells of the end, it is left to expire: the operator's condition of the
same name does, made of what /status says (prediction_view).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from steelyard_router.cluster.station import service_of
from steelyard_router.config import Kubernetes
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import Event, EventWriter
from steelyard_router.observability.drift import Drift

REASON = "PredictionDrift"
LOOK_S = 15.0
SPAN_S = 900.0

log = logging.getLogger(__name__)


class DriftTeller:
    """`states` gives the monitors' as they are now; their times are on `clock`."""

    def __init__(
        self,
        writer: EventWriter,
        settings: Kubernetes,
        states: Callable[[], Iterable[Drift]],
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._settings = settings
        self._states = states
        self._clock = clock
        self._wall = wall
        self._failed = False

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                for state in self._states():
                    if state.lasting(self._clock()):
                        await self._writer.post(drift_event(self._settings, state, self._wall()))
                self._failed = False
            except KubeError as error:
                if not self._failed:
                    log.warning("cannot post an Event of drift, it is tried again: %s", error)
                self._failed = True


def drift_event(settings: Kubernetes, state: Drift, wall: float) -> Event:
    """The same monitor at the same time is the same occurrence, whoever sees it."""
    return Event(
        involved=service_of(settings),
        reason=REASON,
        message=f"Latency predictions drift ({state.monitor}): {'; '.join(state.what)}",
        type="Warning",
        action="Predict",
        occurrence=f"{int(wall // SPAN_S):012d}",
        key=(REASON, state.monitor.value),
        ordered=True,
    )
