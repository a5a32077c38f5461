"""Follows the router's own configuration: the ConfigMap through the API, and the mounted files.

Which of the two is in force is config_map.py's rule; this module only listens to both.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard_router.cluster.config_map import Account, Arbiter, ConfigMapText
from steelyard_router.config import Kubernetes, RouterConfig
from steelyard_router.discovery.watch import ConfigWatch
from steelyard_router.errors import ConfigError
from steelyard_router.kube.client import Kube
from steelyard_router.kube.informer import Informer
from steelyard_router.kube.resource import CONFIG_MAP, Object

LOOK_S = 1.0
"""How often it is looked whether the API is heard: a moment's break needs no fall-back."""


class ConfigSource:
    """Calls `take` with what should be in force, and `refuse` once with each problem of it."""

    def __init__(
        self,
        kube: Kube,
        settings: Kubernetes,
        *,
        started: RouterConfig,
        path: Path | None,
        take: Callable[[RouterConfig], None],
        refuse: Callable[[ConfigError], None],
        rng: random.Random,
    ) -> None:
        self._started = started
        self._path = path
        self._take = take
        self._refuse = refuse
        self._told: str | None = None
        self._key = f"{settings.namespace}/{settings.config_map}"
        self._arbiter = Arbiter(started.revision)
        self._item: Object | None = None
        self._news = asyncio.Event()
        self._informer = Informer(
            kube,
            CONFIG_MAP,
            settings.namespace,
            self._changed,
            fields=f"metadata.name={settings.config_map}",
            rng=rng,
        )

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informer.run())
            group.create_task(self._read())
            group.create_task(self._look())
            if self._path is not None:
                group.create_task(self._follow_files(self._path))

    def _changed(self, objects: Mapping[str, Object]) -> None:
        self._item = objects.get(self._key)
        self._news.set()

    async def _read(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            account = await self._account(self._item)
            self._deliver(self._arbiter.api(account))

    async def _account(self, item: Object | None) -> Account:
        if item is None:
            return ConfigError(
                f"ConfigMap {self._key} does not exist; the operator writes it again when it runs"
            )
        return await asyncio.to_thread(ConfigMapText.of(item).account)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            heard = self._informer.synced.is_set() and self._informer.error is None
            if heard != self._arbiter.heard and not self._news.is_set():
                self._deliver(self._arbiter.back() if heard else self._arbiter.lost())

    async def _follow_files(self, path: Path) -> None:
        watch = ConfigWatch(
            path, self._started, on_error=lambda error: self._deliver(self._arbiter.files(error))
        )
        async for config in watch.changes():
            self._deliver(self._arbiter.files(config))

    def _deliver(self, account: Account | None) -> None:
        if isinstance(account, ConfigError):
            if str(account) != self._told:
                self._told = str(account)
                self._refuse(account)
        elif account is not None:
            self._told = None
            self._take(account)
