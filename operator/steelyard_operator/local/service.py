"""Runs one service: its router, and engines that come and go under it.

The router's configuration file names exactly the engines that answer and are not leaving, and it is
rewritten whenever that changes: up means start, wait until healthy, then route; down means stop
routing, wait until the last request is done, then stop. A policy edit only rewrites the file.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from steelyard_operator.plan import EngineProcess, Key, ServicePlan
from steelyard_router.config import Debug, Drain, Listen, RouterConfig

from . import admin
from .command import HOST, STARTUP_S, engine_command, router_command
from .keeper import Keeper, Launch, State
from .port import free_port
from .rollout import Running, steps
from .rundir import RunDir
from .settings import Settings

_ROUTER_STARTUP_S = 60.0
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Ports:
    """Where one service's router listens."""

    data: int
    admin: int


@dataclass(slots=True)
class _Engine:
    spec: EngineProcess
    keeper: Keeper
    task: asyncio.Task[None]
    leaving: bool = False

    @property
    def serves(self) -> bool:
        return self.keeper.state is State.READY and not self.leaving


Keep = Callable[[str, Callable[[], Launch], Callable[[], None], RunDir], Keeper]
"""Makes a keeper: its name, how to launch it, whom to tell of changes, where its log goes."""


class ServiceRunner:
    """`run` until cancelled; `update` at any time."""

    def __init__(
        self,
        plan: ServicePlan,
        ports: Ports,
        settings: Settings,
        http: aiohttp.ClientSession,
        *,
        keep: Keep,
        report: Callable[[str], None],
    ) -> None:
        self.key: Key = plan.key
        self.url = f"http://{settings.reach_host}:{ports.data}"
        self.admin_url = f"http://{HOST}:{ports.admin}"
        self._plan = plan
        self._settings = settings
        self._ports = ports
        self._http = http
        self._keep = keep
        self._report = report
        self._dir = RunDir(settings.run_dir, plan.key)
        self._engines: dict[str, _Engine] = {}
        self._wake = asyncio.Event()
        self._router = keep("router", self._launch_router, self._wake.set, self._dir)
        self.config: RouterConfig | None = None
        """What the file says now."""

    def update(self, plan: ServicePlan) -> None:
        self._plan = plan
        self._wake.set()

    def engine_states(self) -> dict[str, str]:
        """Of the engines that are ours: starting, ready, restarting or draining."""
        return {
            name: "draining" if engine.leaving else engine.keeper.state.value
            for name, engine in self._engines.items()
        }

    def kill(self) -> None:
        self._router.kill()
        for engine in self._engines.values():
            engine.keeper.kill()

    async def run(self) -> None:
        """The router ends before its engines do, so that its last streams can finish."""
        self._publish()
        self._wake.set()
        async with asyncio.TaskGroup() as group:
            router = group.create_task(self._router.run())
            try:
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    self._step(group)
            finally:
                router.cancel()
                await asyncio.wait({router})

    def _step(self, group: asyncio.TaskGroup) -> None:
        self._publish()
        wanted = {spec.name: spec for spec in self._plan.engines}
        running = [
            Running(engine.spec, engine.keeper.state is State.READY, engine.leaving)
            for engine in self._engines.values()
        ]
        todo = steps(wanted, running)
        for name in todo.stop:
            self._engines[name].leaving = True
            group.create_task(self._retire(self._engines[name]))
        for spec in todo.start:
            self._start(spec, group)
        self._publish()

    def _start(self, spec: EngineProcess, group: asyncio.TaskGroup) -> None:
        keeper = self._keep(spec.name, lambda: self._launch(spec), self._wake.set, self._dir)
        self._engines[spec.name] = _Engine(spec, keeper, group.create_task(keeper.run()))

    async def _retire(self, engine: _Engine) -> None:
        if engine.keeper.state is State.READY:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.drain_s):
                    await self._drained(engine.spec.name)
        engine.task.cancel()
        await asyncio.wait({engine.task})
        del self._engines[engine.spec.name]
        self._wake.set()

    async def _drained(self, name: str) -> None:
        """Until the router runs a configuration without this engine and holds no lease on it."""
        while self._router.state is State.READY:
            status = await admin.status(self._http, self.admin_url)
            if (
                status is not None
                and self.config is not None
                and status.revision == self.config.revision
                and status.leases(name) == 0
            ):
                return
            await asyncio.sleep(_POLL_S)

    def _publish(self) -> None:
        config = self._configuration()
        if config == self.config:
            return
        try:
            self._dir.write(config)
        except OSError as error:
            self._report(f"{self.key.name}: {error}; the router keeps what it has")
        else:
            self.config = config

    def _configuration(self) -> RouterConfig:
        service = self._plan.router.service
        ours = tuple(
            engine.spec.endpoint(engine.keeper.url)
            for engine in self._engines.values()
            if engine.serves
        )
        return self._plan.router.model_copy(
            update={
                "service": service.model_copy(update={"endpoints": (*service.endpoints, *ours)}),
                "listen": Listen(
                    host=self._settings.host,
                    port=self._ports.data,
                    admin_host=HOST,
                    admin_port=self._ports.admin,
                ),
                "drain": Drain(grace_s=self._settings.stop_s),
                "debug": Debug(decisions=self._settings.decisions),
            }
        )

    def _launch(self, spec: EngineProcess) -> Launch:
        port = free_port(HOST)
        return Launch(
            command=engine_command(spec, port, self._settings),
            url=f"http://{HOST}:{port}",
            health_path="/health",
            timeout_s=STARTUP_S[spec.type],
            env=dict(spec.env),
        )

    def _launch_router(self) -> Launch:
        return Launch(
            command=router_command(str(self._dir.router_file), self._settings),
            url=self.admin_url,
            health_path="/healthz",
            timeout_s=_ROUTER_STARTUP_S,
        )
