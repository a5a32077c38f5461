"""The router: builds the parts, keeps them in step with the configuration, and runs their duties.

A reload builds everything that can fail first and then swaps it in; an error leaves the last good
configuration in force and shows in /status. Each recurring duty is one loop of its own, begun again
should it ever break. In a cluster the duties of cluster/ join them; nothing of Kubernetes is
imported elsewhere.
"""

import asyncio
import contextlib
import functools
import logging
import random
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from steelyard_router.alerts.judge import Judge
from steelyard_router.alerts.watch import LocalAlerts
from steelyard_router.alerts.window import Windows
from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.analysis.shadow import Shadow
from steelyard_router.config import RouterConfig
from steelyard_router.discovery.found import Engines
from steelyard_router.discovery.watch import ConfigWatch
from steelyard_router.duty import Duty, kept
from steelyard_router.engines.poller import Poller
from steelyard_router.engines.report import EngineReport
from steelyard_router.errors import ConfigError
from steelyard_router.observability.admin import make_admin_app
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.recorder import Recorder
from steelyard_router.observability.snapshot import RouterSnapshot
from steelyard_router.ordering import room_of
from steelyard_router.proxy.admission import Admission
from steelyard_router.proxy.auth import KeyRing
from steelyard_router.proxy.catalog import Catalog
from steelyard_router.proxy.health import Prober
from steelyard_router.proxy.line import Line, Rules
from steelyard_router.proxy.membership import Membership
from steelyard_router.proxy.retry import RetryBudget
from steelyard_router.proxy.roster import Roster
from steelyard_router.proxy.runtime import Active, Runtime
from steelyard_router.proxy.server import Server
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.strategies import strategies_for
from steelyard_router.view import router_view

if TYPE_CHECKING:
    from steelyard_router.cluster.cluster import Cluster

TICK_S = 0.25
SHADOW_TICK_S = 1.0
ADMIN_STOP_S = 5.0
"""What answers of the admin port may still take once everything else is over."""

log = logging.getLogger("steelyard.router")


class Router:
    """One router: its parts and its duties. `time` is the event loop's clock throughout.

    `replica` is this process's name among those that serve the same, `address` where those reach
    it; only in a cluster.
    """

    def __init__(
        self,
        config: RouterConfig,
        *,
        time: Callable[[], float],
        rng: random.Random,
        replica: str | None = None,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        now = time()
        self._time, self._rng = time, rng
        self._replica, self._address = replica, address
        self._cluster: Cluster | None = None
        self._engines = Engines()
        self._config_error: str | None = None
        self._ratio, self._history = TokenRatio(), OutputHistory()
        self._windows = Windows(config.policy)
        self.observer = Observer(config, self._windows, now, recorder)
        self._alerts: Judge = LocalAlerts(config, lambda: self.observer.windows, clock=time)
        self._scheduler = scheduler = Scheduler(index_bytes=config.limits.index_bytes)
        self._admission = Admission(config.limits, clock=time)
        roster = Roster(config.breaker, config.health, on_limit=self._on_limit)
        active = self._compile(config)
        self.runtime = Runtime(
            active=active,
            scheduler=scheduler,
            roster=roster,
            catalog=Catalog(roster),
            admission=self._admission,
            line=Line(
                scheduler,
                active.rules,
                time=time,
                roster=roster,
                overloaded=self._admission.overloaded,
            ),
            budget=RetryBudget(config.retry.budget_percent),
            observer=self.observer,
            time=time,
            keys=self._keys(config),
        )
        self._membership = Membership(
            roster, scheduler, self.runtime.pools, config.limits.idle_connections, {}
        )
        self._membership.configure(config.service.endpoints, now)
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
        self._membership.configure(config.service.endpoints, now)
        runtime = self.runtime
        runtime.active, runtime.keys = active, keys
        runtime.roster.update(config.breaker, config.health, now)
        runtime.admission.update(config.limits, config.policy.workloads)
        runtime.line.update(active.rules)
        runtime.budget.update(config.retry.budget_percent)
        self.observer.update(config, now)  # replaces the windows too, which the alerts read next
        self._alerts.replace(config, now)
        self._prober.update(config.health)
        self._follow()
        self._config_error = None
        for name in self._fixed(old, config):
            log.warning("changes of %s take effect at the next start of the router", name)
        log.info("configuration %s is in force", config.revision)

    def take_over(self, config: RouterConfig) -> None:
        """Reloads if there is anything to change; an error is kept and shown."""
        if config.revision == self.config.revision and self._config_error is None:
            return
        try:
            self.reload(config)
        except ConfigError as error:
            self.refuse(error)

    def refuse(self, error: ConfigError) -> None:
        """Keeps the last good configuration and says why."""
        self._config_error = str(error)
        self.observer.reload_failed()
        log.error("the configuration was not taken over, the last good one stays: %s", error)
        if self._cluster is not None:
            self._cluster.refused(error)

    def found(self, engines: Engines) -> None:
        """Serves with the engines that were found, beside those of the configuration."""
        self._engines = engines
        self._membership.find(engines.found, self._time())
        self._follow()

    def _fixed(self, old: RouterConfig, new: RouterConfig) -> list[str]:
        """What has changed and cannot be followed."""
        listen = ["listen"] if new.listen != old.listen else []
        if self._cluster is not None:
            return listen + self._cluster.replace(new.kubernetes)
        return listen + (["kubernetes"] if new.kubernetes != old.kubernetes else [])

    def _compile(self, config: RouterConfig) -> Active:
        analyzer = Analyzer(config, self._ratio, self._history)
        shadow = None
        if config.shadow is not None:
            hints = config.service.client_hints
            room = room_of(config.shadow)
            shadow = Shadow(config.shadow, strategies_for(config.shadow), hints, room)
        return Active(config, analyzer, Rules.of(config, self._rng), shadow)

    @staticmethod
    def _keys(config: RouterConfig) -> KeyRing | None:
        path = config.service.api_keys_file
        return KeyRing.load(path) if path is not None else None

    def _follow(self) -> None:
        self._prober.follow()
        self._poller.follow(member.endpoint for member in self.runtime.roster)

    def _on_limit(self, instance: str, limit: float) -> None:
        self._scheduler.limit(instance, limit)
        self.runtime.line.stir(changed=True)

    # -- what engines report ----------------------------------------------------------------------

    def _on_report(self, instance: str, report: EngineReport, now: float) -> None:
        member = self.runtime.roster.get(instance)
        if member is None:
            return
        scheduler = self.runtime.scheduler
        member.polled = True
        if report.progressed:
            member.last_byte_at = now
        if report.restarted:
            log.warning("%s has restarted: its prefix index is cleared", instance)
            scheduler.reset_cache(instance)
        if report.cache_tokens is not None and member.endpoint.cache_tokens is None:
            scheduler.join(instance, cache_tokens=report.cache_tokens)
        scheduler.observe(
            instance,
            running=report.running,
            waiting=report.waiting,
            now=now,
            kv_usage=report.kv_usage,
        )
        self.runtime.line.stir()

    # -- what the router tells about itself -------------------------------------------------------

    def snapshot(self, now: float) -> RouterSnapshot:
        return router_view(
            self.runtime,
            self._membership,
            self._alerts,
            now,
            draining=self.server.draining,
            config_error=self._config_error,
            replica=self._replica,
            in_cluster=self._cluster is not None,
            unheard=None if self._cluster is None else self._cluster.unheard,
            problem=self._engines.problem,
        )

    # -- running ----------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def serving(self, path: Path | None = None) -> AsyncIterator[tuple[int, int]]:
        """Everything runs inside; gives (port, admin_port). With a path, the file is watched."""
        listen = self.config.listen
        admin = web.AppRunner(
            make_admin_app(self, clock=self._time),
            access_log=None,
            shutdown_timeout=ADMIN_STOP_S,
        )
        await admin.setup()
        duties: list[asyncio.Task[None]] = []
        try:
            port = await self.server.start(listen.host, listen.port)
            site = web.TCPSite(admin, listen.admin_host or listen.host, listen.admin_port)
            await site.start()
            self._follow()
            duties = [asyncio.create_task(kept(duty)) for duty in await self._duties(path)]
            yield port, int(admin.addresses[0][1])
        finally:
            for task in duties:
                task.cancel()
            await asyncio.gather(*duties, return_exceptions=True)
            if self._cluster is not None:
                await self._cluster.close()
            await self._prober.close()
            await self._poller.close()
            await self.server.close()
            self.runtime.line.close()
            self._membership.close()
            await admin.cleanup()

    async def _duties(self, path: Path | None) -> list[Duty]:
        settings = self.config.kubernetes
        if settings is None:
            watch = [functools.partial(self._watch_file, path)] if path is not None else []
            return [self._tick, self._judge_shadow, self._alerts.run, *watch]
        from steelyard_router.cluster.cluster import Cluster, Identity  # noqa: PLC0415 -- only in a cluster

        self._replica = self._replica or socket.gethostname()
        self._cluster = await Cluster.join(
            self,
            settings,
            Identity(self._replica, self._address),
            path=path,
            clock=self._time,
            rng=self._rng,
        )
        self._alerts = self._cluster.alerts
        return [self._tick, self._judge_shadow, self._alerts.run, *self._cluster.duties]

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            now = self._time()
            self.runtime.roster.refresh(now)
            self._membership.tick(now)
            self.runtime.line.stir()
            if self.runtime.keys is not None:
                self._refresh_keys(self.runtime.keys)

    async def _judge_shadow(self) -> None:
        while True:
            await asyncio.sleep(SHADOW_TICK_S)
            if (book := self.observer.shadow) is not None:
                book.judge(self._time())
            self.observer.judge_drift(self._scheduler.paces(), self._time())

    def _refresh_keys(self, keys: KeyRing) -> None:
        fresh = keys.fresh()
        if fresh is not keys:
            self.runtime.keys = fresh
            if fresh.problem:
                log.error(
                    "the API key file was not taken over, the last good keys stay: %s",
                    fresh.problem,
                )

    async def _watch_file(self, path: Path) -> None:
        watch = ConfigWatch(path, self.config, on_error=self.refuse)
        async for config in watch.changes():
            self.take_over(config)
