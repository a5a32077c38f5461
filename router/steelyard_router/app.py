"""The router process: builds the parts, keeps them in step with the configuration, runs and drains
them.

A reload builds everything that can fail first and then swaps it in; an error leaves the last good
configuration in force and shows in /status. Each recurring duty is one short loop in `run`.
"""

import asyncio
import contextlib
import gc
import logging
import random
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from aiohttp import web

from steelyard_router.alerts.book import AlertBook
from steelyard_router.alerts.transition import Transition
from steelyard_router.alerts.window import Windows
from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.config import RouterConfig
from steelyard_router.discovery.watch import ConfigWatch
from steelyard_router.engines.poller import Poller
from steelyard_router.engines.report import EngineReport
from steelyard_router.errors import ConfigError
from steelyard_router.observability.admin import make_admin_app
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.snapshot import IndexView, InstanceView, RouterSnapshot
from steelyard_router.proxy.admission import Admission
from steelyard_router.proxy.auth import KeyRing
from steelyard_router.proxy.catalog import Catalog
from steelyard_router.proxy.health import Prober
from steelyard_router.proxy.membership import Membership
from steelyard_router.proxy.retry import RetryBudget
from steelyard_router.proxy.roster import Member, Roster
from steelyard_router.proxy.runtime import Active, Runtime
from steelyard_router.proxy.server import Server
from steelyard_router.scheduling.scheduler import InstanceLoad, Scheduler
from steelyard_router.strategies import strategies_for

TICK_S = 0.25
ALERT_TICK_S = 1.0
GC_YOUNG = 20_000
"""Allocations between collections of the youngest generation: requests make few cycles."""

log = logging.getLogger("steelyard.router")


class Router:
    """One router: its parts and its duties. `time` is the event loop's clock throughout."""

    def __init__(
        self, config: RouterConfig, *, time: Callable[[], float], rng: random.Random
    ) -> None:
        now = time()
        self._time = time
        self._config_error: str | None = None
        self._ratio, self._history = TokenRatio(), OutputHistory()
        self._windows = Windows(config.policy)
        self._book = AlertBook(config.policy, config.service.name)
        self.observer = Observer(config, self._windows, now)
        self._scheduler = scheduler = Scheduler(index_bytes=config.limits.index_bytes)
        self._admission = Admission(config.limits, clock=time)
        roster = Roster(config.breaker, config.health, on_limit=self._on_limit)
        self.runtime = Runtime(
            active=self._compile(config),
            scheduler=scheduler,
            roster=roster,
            catalog=Catalog(roster),
            admission=self._admission,
            budget=RetryBudget(config.retry.budget_percent),
            observer=self.observer,
            time=time,
            keys=self._keys(config),
        )
        self._membership = Membership(
            roster, scheduler, self.runtime.pools, config.limits.idle_connections, {}
        )
        self._membership.apply(config.service.endpoints, now)
        self._prober = Prober(roster, config.health, rng=rng, clock=time)
        self._poller = Poller(self._on_report, rng=rng, clock=time)
        self.server = Server(self.runtime)

    @property
    def config(self) -> RouterConfig:
        return self.runtime.active.config

    # -- configuration ----------------------------------------------------------------------------

    def reload(self, config: RouterConfig) -> None:
        """Puts a new configuration in force, whole. Raises ConfigError with nothing changed."""
        now, old = self._time(), self.config
        active, keys = self._compile(config), self._keys(config)
        self._membership.max_idle = config.limits.idle_connections
        self._membership.apply(config.service.endpoints, now)
        runtime = self.runtime
        runtime.active, runtime.keys = active, keys
        runtime.roster.update(config.breaker, config.health, now)
        runtime.admission.update(config.limits, config.policy.workloads)
        runtime.budget.update(config.retry.budget_percent)
        self.observer.update(config, now)  # replaces the windows too, which the alerts read next
        self._report(self._book.replace(config.policy, now))
        self._prober.update(config.health)
        self._follow()
        self._config_error = None
        if config.listen != old.listen:
            log.warning("listen.* changes take effect at the next start of the router")
        log.info("configuration %s is in force", config.revision)

    def refuse(self, error: ConfigError) -> None:
        """Keeps the last good configuration and says why."""
        self._config_error = str(error)
        self.observer.reload_failed()
        log.error("the configuration was not taken over, the last good one stays: %s", error)

    def _compile(self, config: RouterConfig) -> Active:
        return Active(
            config, Analyzer(config, self._ratio, self._history), strategies_for(config.policy)
        )

    @staticmethod
    def _keys(config: RouterConfig) -> KeyRing | None:
        path = config.service.api_keys_file
        return KeyRing.load(path) if path is not None else None

    def _follow(self) -> None:
        self._prober.follow()
        self._poller.follow(member.endpoint for member in self.runtime.roster)

    def _on_limit(self, instance: str, limit: float) -> None:
        self._scheduler.limit(instance, limit)
        self._admission.room_made()

    # -- what engines report ----------------------------------------------------------------------

    def _on_report(self, instance: str, report: EngineReport, now: float) -> None:
        member = self.runtime.roster.get(instance)
        if member is None:
            return
        scheduler = self.runtime.scheduler
        if report.progressed:
            member.last_byte_at = now
        if report.restarted:
            log.warning("%s has restarted: its prefix index is cleared", instance)
            scheduler.reset_cache(instance)
        if report.cache_tokens is not None and member.endpoint.cache_tokens is None:
            scheduler.join(instance, cache_tokens=report.cache_tokens)
        scheduler.observe(instance, running=report.running, waiting=report.waiting, now=now)

    # -- what the router tells about itself -------------------------------------------------------

    def snapshot(self, now: float) -> RouterSnapshot:
        runtime = self.runtime
        index = runtime.scheduler.index
        members = {member.id: member for member in runtime.roster} | self._membership.leaving
        loads = {load.instance: load for load in runtime.scheduler.snapshot(now)}
        return RouterSnapshot(
            revision=self.config.revision,
            draining=self.server.draining,
            leases_held=runtime.scheduler.leases_held,
            running=runtime.admission.running,
            waiting=runtime.admission.waiting,
            index=IndexView(
                index.block_count, index.holder_count, index.bytes, index.budget_evictions
            ),
            instances=tuple(_view(member, loads[id_], now) for id_, member in members.items()),
            alerts=tuple(self._book.states()),
            config_error=self._config_error,
        )

    def _report(self, transitions: list[Transition]) -> None:
        for transition in transitions:
            level = logging.WARNING if transition.kind != "Cleared" else logging.INFO
            log.log(level, "%s", transition.message)

    # -- running ----------------------------------------------------------------------------------

    async def run(
        self, path: Path | None, *, started: Callable[[int, int], None] | None = None
    ) -> None:
        """Serves until SIGTERM or SIGINT, then drains. `started(port, admin_port)` is called once
        ready.
        """
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        async with self.serving(path) as ports:
            log.info("serving on port %d, admin on port %d", *ports)
            if started is not None:
                started(*ports)
            gc.collect()
            gc.freeze()
            gc.set_threshold(GC_YOUNG, 20, 50)
            await stop.wait()
            grace_s = self.config.drain.grace_s
            log.info(
                "draining: %d requests run, grace %g s", self.runtime.admission.running, grace_s
            )
            cut_off = await self.server.drain(grace_s)
            log.info("drained; %d connections were cut off", cut_off)

    @contextlib.asynccontextmanager
    async def serving(self, path: Path | None = None) -> AsyncIterator[tuple[int, int]]:
        """Everything runs inside; gives (port, admin_port). With a path, the file is watched."""
        listen = self.config.listen
        admin = web.AppRunner(make_admin_app(self, clock=self._time), access_log=None)
        await admin.setup()
        duties: list[asyncio.Task[None]] = []
        try:
            port = await self.server.start(listen.host, listen.port)
            site = web.TCPSite(admin, listen.admin_host or listen.host, listen.admin_port)
            await site.start()
            self._follow()
            loop = asyncio.get_running_loop()
            duties = [loop.create_task(duty) for duty in (self._tick(), self._watch_alerts())]
            if path is not None:
                duties.append(loop.create_task(self._watch_file(path)))
            yield port, int(admin.addresses[0][1])
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)
            await self._prober.close()
            await self._poller.close()
            await self.server.close()
            self._membership.close()
            await admin.cleanup()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            now = self._time()
            self.runtime.roster.refresh(now)
            self._membership.tick(now)
            if self.runtime.keys is not None:
                self._refresh_keys(self.runtime.keys)

    def _refresh_keys(self, keys: KeyRing) -> None:
        fresh = keys.fresh()
        if fresh is not keys:
            self.runtime.keys = fresh
            if fresh.problem:
                log.error(
                    "the API key file was not taken over, the last good keys stay: %s",
                    fresh.problem,
                )

    async def _watch_alerts(self) -> None:
        while True:
            await asyncio.sleep(ALERT_TICK_S)
            self._report(self._book.evaluate(self._time(), self.observer.windows))

    async def _watch_file(self, path: Path) -> None:
        watch = ConfigWatch(path, self.config, on_error=self.refuse)
        async for config in watch.changes():
            try:
                self.reload(config)
            except ConfigError as error:
                self.refuse(error)


def _view(member: Member, load: InstanceLoad, now: float) -> InstanceView:
    breaker = member.breaker.state(now).value
    return InstanceView(
        id=member.id,
        url=member.endpoint.url,
        state=_state(member, breaker),
        healthy=member.healthy is True,
        breaker=breaker,
        limit=load.limit,
        queued_tokens=load.queued_tokens,
        requests=load.requests,
        context_tokens=load.context_tokens,
        index_blocks=load.index_blocks,
        leases=load.leases,
        models=tuple(sorted(member.models or ())),
    )


def _state(member: Member, breaker: str) -> str:
    """In one word, what keeps requests away from the member; "ready" when nothing does."""
    if member.draining:
        return "draining"
    if member.healthy is None:
        return "unprobed"  # requests may go there already, but readiness waits for the first probe
    if not member.healthy:
        return "unhealthy"
    return "ready" if member.limit > 0 else breaker
