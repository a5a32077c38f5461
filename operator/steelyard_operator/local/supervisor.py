"""Runs a plan: one runner for each service, added, updated and removed as plans change."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from steelyard_operator.errors import LocalError
from steelyard_operator.plan import Key, Plan, ServicePlan

from .backoff import Backoff
from .command import HOST
from .keeper import Keeper, Launch
from .port import free_port, require_free
from .rundir import RunDir
from .service import Ports, ServiceRunner
from .settings import Settings

_STOP_MARGIN_S = 2.0
"""The router ends by itself after its grace; killed only when it does not."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A service's place in the row of ports, its own for as long as it runs."""

    offset: int
    ports: Ports


class Supervisor:
    """Its tasks live in `group`. A name that comes back waits until its old service is gone."""

    def __init__(
        self,
        settings: Settings,
        http: aiohttp.ClientSession,
        group: asyncio.TaskGroup,
        report: Callable[[str], None],
        rng: random.Random,
    ) -> None:
        self._settings = settings
        self._http = http
        self._group = group
        self._report = report
        self._rng = rng
        self._plan = Plan()
        self._runners: dict[Key, ServiceRunner] = {}
        self._places: dict[Key, _Place] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._leaving: set[Key] = set()

    @property
    def runners(self) -> list[ServiceRunner]:
        return list(self._runners.values())

    def admit(self, plan: Plan) -> None:
        """Finds ports for the services that are new in `plan`.

        Raises LocalError, with nothing changed, when they are taken.
        """
        new = [service.key for service in plan.services if service.key not in self._places]
        taken = {place.offset for place in self._places.values()}
        spare = (offset for offset in range(len(taken) + len(new)) if offset not in taken)
        self._places |= {
            key: _Place(offset, self._ports(offset))
            for key, offset in zip(new, spare, strict=False)
        }

    def apply(self, plan: Plan) -> None:
        """Makes what runs follow `plan`. Raises LocalError as `admit` does."""
        self.admit(plan)
        self._plan = plan
        wanted = {service.key: service for service in plan.services}
        for key, runner in self._runners.items():
            if key in wanted and key not in self._leaving:
                runner.update(wanted[key])
            elif key not in wanted:
                self._end(key)
        for service in plan.services:
            if service.key not in self._runners:
                self._start(service)

    def close(self) -> None:
        """Starts the end of everything; the group waits for it."""
        self._plan = Plan()
        for key in self._tasks:
            self._end(key)

    def kill(self) -> None:
        """SIGKILL to every process, for a user who will not wait for `close`."""
        for runner in self._runners.values():
            runner.kill()

    def _start(self, service: ServicePlan) -> None:
        runner = ServiceRunner(
            service,
            self._places[service.key].ports,
            self._settings,
            self._http,
            keep=self._keeper,
            report=self._report,
        )
        task = self._group.create_task(runner.run())
        self._runners[service.key] = runner
        self._tasks[service.key] = task
        task.add_done_callback(lambda _: self._ended(service.key))

    def _end(self, key: Key) -> None:
        """Once only: a second cancellation would cut the draining short."""
        if key not in self._leaving:
            self._leaving.add(key)
            self._tasks[key].cancel()

    def _ended(self, key: Key) -> None:
        self._leaving.discard(key)
        del self._runners[key], self._tasks[key], self._places[key]
        if any(service.key == key for service in self._plan.services):
            try:
                self.apply(self._plan)
            except LocalError as error:
                self._report(str(error))

    def _keeper(
        self, name: str, launch: Callable[[], Launch], changed: Callable[[], None], folder: RunDir
    ) -> Keeper:
        return Keeper(
            name=name,
            launch=launch,
            log=folder.log(name),
            http=self._http,
            backoff=Backoff(self._rng),
            stop_s=self._settings.stop_s + _STOP_MARGIN_S,
            report=self._report,
            changed=changed,
        )

    def _ports(self, offset: int) -> Ports:
        settings = self._settings
        return Ports(
            _port(settings.host, settings.port, offset, "--port"),
            _port(HOST, settings.admin_port, offset, "--admin-port"),
        )


def _port(host: str, first: int, offset: int, option: str) -> int:
    if first == 0:
        return free_port(host)
    require_free(host, first + offset, option)
    return first + offset
