"""`steelyard up` from start to end: follows the manifests, runs their plan, shows how it does."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import aiohttp

from steelyard_operator.api import manifest
from steelyard_operator.errors import LocalError, OperatorError
from steelyard_operator.plan import Plan, plan

from . import admin
from .command import check
from .service import ServiceRunner
from .settings import Settings
from .supervisor import Supervisor
from .view import ServiceView, news
from .watch import Signature, edits, signature


class Screen(Protocol):
    """Where it all is shown."""

    def say(self, text: str) -> None:
        """Something happened."""

    def show(self, services: Sequence[ServiceView]) -> None:
        """How it is now, every `look_s`."""


class Session:
    """One run of some manifests, until `stop`."""

    def __init__(self, manifests: Sequence[Path], settings: Settings, screen: Screen) -> None:
        self._paths = tuple(manifests)
        self._settings = settings
        self._screen = screen
        self._stop = asyncio.Event()
        self._supervisor: Supervisor | None = None

    def stop(self) -> None:
        self._stop.set()

    def interrupt(self) -> None:
        """The first time, stops in good order; after that, kills what is still there."""
        if self._stop.is_set() and self._supervisor is not None:
            self._supervisor.kill()
        self._stop.set()

    async def run(self) -> None:
        """Until `stop`. Raises ManifestError or LocalError when it cannot even start."""
        since = signature(self._paths)
        first = self._plan()
        async with aiohttp.ClientSession() as http:
            group = asyncio.TaskGroup()
            supervisor = Supervisor(self._settings, http, group, self._screen.say, random.Random())
            supervisor.admit(first)
            self._supervisor = supervisor
            async with group:
                self._screen.say(f"starting; logs are in {self._settings.run_dir}")
                supervisor.apply(first)
                self._explain(first)
                followers = [
                    group.create_task(self._follow(supervisor, since)),
                    group.create_task(self._look(supervisor, http)),
                ]
                await self._stop.wait()
                for task in followers:
                    task.cancel()
                supervisor.close()

    def _plan(self) -> Plan:
        """Raises ManifestError, or LocalError with everything that cannot run here."""
        found = manifest.read(self._paths)
        if not found.services:
            raise LocalError("the manifests hold no LLMService: nothing to serve")
        planned = plan(found.services, found.policies)
        if refusals := check(planned, self._settings):
            raise LocalError("\n".join(refusals))
        return planned

    async def _follow(self, supervisor: Supervisor, since: Signature) -> None:
        async for _ in edits(self._paths, since, interval_s=self._settings.watch_s):
            try:
                planned = self._plan()
                supervisor.apply(planned)
            except OperatorError as error:
                self._screen.say(f"this edit is not used, all stays as it was:\n{error}")
            else:
                self._screen.say("the manifests changed; following")
                self._explain(planned)

    def _explain(self, planned: Plan) -> None:
        for policy in planned.policies:
            for ancestor in policy.ancestors:
                condition = ancestor.condition
                if condition.status == "False":
                    self._screen.say(
                        f"SLOPolicy {policy.name} is not in force for {ancestor.target} "
                        f"({condition.reason}): {condition.message}"
                    )

    async def _look(self, supervisor: Supervisor, http: aiohttp.ClientSession) -> None:
        last: dict[str, ServiceView] = {}
        while True:
            views = await asyncio.gather(
                *(_view(http, item, last.get(item.admin_url)) for item in supervisor.runners)
            )
            for view in views:
                for text in news(last.get(view.admin_url), view):
                    self._screen.say(text)
            last = {view.admin_url: view for view in views}
            self._screen.show(views)
            await asyncio.sleep(self._settings.look_s)


async def _view(
    http: aiohttp.ClientSession, runner: ServiceRunner, last: ServiceView | None
) -> ServiceView:
    status = await admin.status(http, runner.admin_url)
    config = runner.config
    current = status is not None and config is not None and status.revision == config.revision
    policy = last.policy if last is not None else None
    if current and config is not None:
        policy = config.policy
    return ServiceView(
        name=runner.key.name,
        url=runner.url,
        admin_url=runner.admin_url,
        engines=runner.engine_states(),
        status=status,
        current=current,
        policy=policy,
    )
