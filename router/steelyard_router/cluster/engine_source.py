"""Finds the engines of a Service: its EndpointSlices, listed, watched and listed again.

Keeps true: while the API server cannot be asked, those that were found stay. Only a slice that says
so takes an engine away. A change is followed at once, those right after it together: following one
costs some milliseconds at 512 engines, and a rollout makes hundreds.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping

from steelyard_router.cluster.slice import SERVICE_LABEL, engines
from steelyard_router.config import Kubernetes
from steelyard_router.discovery.found import Engines
from steelyard_router.kube.client import Kube
from steelyard_router.kube.informer import Informer
from steelyard_router.kube.resource import ENDPOINT_SLICE, Object

GAP_S = 0.1
"""Between two changes that are followed."""

log = logging.getLogger(__name__)


class EngineSource:
    """Calls `found` with all engines after every change of them."""

    def __init__(
        self,
        kube: Kube,
        settings: Kubernetes,
        *,
        found: Callable[[Engines], None],
        rng: random.Random,
        resync_s: float = 300.0,
    ) -> None:
        self._settings = settings
        self._found = found
        self._last: Engines | None = None
        self._news = asyncio.Event()
        self._informer = Informer(
            kube,
            ENDPOINT_SLICE,
            settings.namespace,
            self._changed,
            labels=f"{SERVICE_LABEL}={settings.engine_service}",
            rng=rng,
            resync_s=resync_s,
        )

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informer.run())
            group.create_task(self._follow())

    @property
    def unheard(self) -> str | None:
        """Why nothing is known yet; None once something is, however old."""
        if self._informer.synced.is_set():
            return None
        problem = self._informer.error or "no answer yet"
        return f"the endpoints of Service {self._settings.engine_service} are not known: {problem}"

    def replace(self, settings: Kubernetes) -> None:
        """Another port, type or list of models of the same Service."""
        if settings != self._settings:
            self._settings = settings
            if self._informer.synced.is_set():
                self._news.set()

    def _changed(self, _: Mapping[str, Object]) -> None:
        self._news.set()

    async def _follow(self) -> None:
        if self._informer.synced.is_set():
            self._look()  # a look that broke is made up for
        while True:
            await self._news.wait()
            self._news.clear()
            self._look()
            await asyncio.sleep(GAP_S)

    def _look(self) -> None:
        last = self._last
        known = last.found if last is not None else ()
        now = engines(self._informer.objects.values(), self._settings, known)
        if now == last:
            return
        if now.problem is not None and (last is None or now.problem != last.problem):
            log.warning("%s", now.problem)
        self._found(now)
        self._last = now
