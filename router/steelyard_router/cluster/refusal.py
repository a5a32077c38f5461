"""Tells the cluster, by an Event on the LLMService, that a configuration was not taken over.

All replicas refuse the same configuration for the same reason, so within SPAN_S it is one
occurrence for all of them. Nothing waits for the Event: it is posted when the API server can be
reached.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable

from steelyard_router.cluster.station import service_of
from steelyard_router.config import Kubernetes
from steelyard_router.errors import ConfigError
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import Event, EventWriter

REASON = "ConfigReloadFailed"
RETRY_S = 10.0
SPAN_S = 600.0
FORBIDDEN = 403
"""For good, while a token that has just run out (401) is soon replaced."""

log = logging.getLogger(__name__)


class RefusalTeller:
    """Only the newest problem is told, once."""

    def __init__(
        self, writer: EventWriter, settings: Kubernetes, *, wall: Callable[[], float]
    ) -> None:
        self._writer = writer
        self._wall = wall
        self._settings = settings
        self._news: asyncio.Queue[Event] = asyncio.Queue()

    def tell(self, error: ConfigError) -> None:
        self._news.put_nowait(refusal(self._settings, error, self._wall()))

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        while True:
            event = await self._news.get()
            if not await self._post(event):
                await asyncio.sleep(RETRY_S)
                if self._news.empty():
                    self._news.put_nowait(event)

    async def _post(self, event: Event) -> bool:
        """Whether this is done with."""
        try:
            await self._writer.post(event)
        except KubeError as problem:
            log.warning("cannot post an Event: %s", problem)
            return problem.status == FORBIDDEN or problem.invalid
        return True


def refusal(settings: Kubernetes, error: ConfigError, wall: float) -> Event:
    """The same error at the same time is the same occurrence, whoever meets it."""
    words = str(error)
    return Event(
        involved=service_of(settings),
        reason=REASON,
        message=f"The router keeps its last good configuration: {words}",
        type="Warning",
        action="Reload",
        occurrence=f"{int(wall // SPAN_S)}/{hashlib.sha256(words.encode()).hexdigest()[:16]}",
        key=(REASON,),
    )
