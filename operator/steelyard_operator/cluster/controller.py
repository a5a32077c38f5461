"""Puts the parts together and runs them.

    kopf's watches -> Dispatcher -> WorkQueue -> ServiceReconcile | PolicyReconcile -> API server
    Resync --------------^

One process at a time is meant to run (the chart's Deployment has strategy Recreate); two would only
do the same work twice.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp

from steelyard_operator.plan.child import Settings
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import EventWriter

from .admin import admin_server
from .apply import Applier
from .dispatch import Dispatcher
from .health import Health
from .heard import Heard
from .key import ObjectKey
from .means import Means
from .metric import Metrics
from .policy import PolicyReconcile
from .preflight import preflight
from .publish import Publisher
from .queue import RetryError, WorkQueue
from .report import Ask, HttpFetch, router_reports
from .resync import Resync
from .service import ServiceReconcile
from .silence import PatientFetch
from .watcher import Watcher

COMPONENT = "steelyard-operator"
GRACE_S = 8.0
"""What running reconciles may take to finish when the process is asked to end."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """`namespaces` empty: all. `instance` names this process in Events."""

    settings: Settings
    namespaces: tuple[str, ...] = ()
    kubeconfig: str | None = None
    host: str = "0.0.0.0"
    port: int = 9091
    resync_s: float = 600.0
    workers: int = 4
    instance: str = COMPONENT


class Controller:
    """`ask` is how routers are asked; without it, over HTTP."""

    def __init__(
        self, kube: Kube, options: Options, *, rng: random.Random, ask: Ask | None = None
    ) -> None:
        self._kube = kube
        self._options = options
        self._rng = rng
        self._ask = ask
        self.metrics = Metrics()
        self.port: int | None = None
        """Where it serves /healthz, /readyz and /metrics, once it does."""
        self.started = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set. Raises ClusterError or KubeError when it cannot begin."""
        checking = preflight(self._kube, self._options.namespaces)
        if not await _done_before(stop, checking):
            return
        # No limit: who waits for a connection to one router would count as silent.
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            ask = self._ask or _over_http(session)
            loop = asyncio.get_running_loop()
            queue, dispatcher = self._work(ask)
            resync = Resync(
                self._kube,
                self._options.namespaces,
                dispatcher.listed,
                period_s=self._options.resync_s,
                clock=loop.time,
                rng=self._rng,
            )
            watcher = Watcher(
                _Hear(dispatcher, self.metrics),
                namespaces=self._options.namespaces,
                kubeconfig=self._options.kubeconfig,
                rng=self._rng,
            )
            health = Health(queue, resync, watcher, loop.time)
            async with (
                admin_server(
                    self._options.host,
                    self._options.port,
                    broken=health.broken,
                    problems=health.problems,
                    metrics=self.metrics.text,
                ) as self.port,
                self._working(queue, watcher, resync),
            ):
                self.started.set()
                log.info(
                    "the operator is at work; /healthz, /readyz and /metrics on port %d", self.port
                )
                await stop.wait()
                log.info("stopping: what runs may finish for %.0f s", GRACE_S)

    def _work(self, ask: Ask) -> tuple[WorkQueue, Dispatcher]:
        async def handle(key: ObjectKey) -> float | None:
            reconcile = services if key.kind == "LLMService" else policies
            try:
                return await reconcile(key)
            except KubeError as error:
                raise RetryError(str(error)) from error

        queue = WorkQueue(handle, rng=self._rng, observer=self.metrics)
        dispatcher = Dispatcher(queue.add)
        means = self._means(ask, dispatcher)
        services, policies = ServiceReconcile(means), PolicyReconcile(means)
        return queue, dispatcher

    def _means(self, ask: Ask, dispatcher: Dispatcher) -> Means:
        events = EventWriter(
            self._kube,
            component=COMPONENT,
            instance=self._options.instance,
            wall=time.time,
            clock=time.monotonic,
            counted=lambda reason, posting: self.metrics.event(reason, posting.value),
        )
        return Means(
            kube=self._kube,
            applier=Applier(self._kube),
            publisher=Publisher(self._kube, events),
            ask=ask,
            settings=self._options.settings,
            metrics=self.metrics,
            now=lambda: datetime.now(UTC),
            follow=dispatcher.follow,
            gone=dispatcher.gone,
        )

    @asynccontextmanager
    async def _working(
        self, queue: WorkQueue, watcher: Watcher, resync: Resync
    ) -> AsyncIterator[None]:
        """Starts from the back to the front, and stops from the front to the back."""
        queue.start(self._options.workers)
        watcher.start()
        rounds = asyncio.create_task(resync.run(), name="resync")
        try:
            yield
        finally:
            rounds.cancel()
            await asyncio.gather(rounds, return_exceptions=True)
            await watcher.stop()
            await queue.stop(GRACE_S)


@dataclass(frozen=True, slots=True)
class _Hear:
    dispatcher: Dispatcher
    metrics: Metrics

    def __call__(self, event: Heard) -> None:
        self.metrics.heard(event.kind)
        self.dispatcher.hear(event)


async def _done_before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Whether `work` was done before `stop` was set; its errors are raised."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return working.done()
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


def _over_http(session: aiohttp.ClientSession) -> Ask:
    fetch = PatientFetch(HttpFetch(session), time.monotonic)
    return lambda pods: router_reports(fetch, pods)
