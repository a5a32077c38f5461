"""What the API server holds of one kind, kept true: list, watch, and list again.

    list -> watch ... ended -> watch from the last version ... gone, silent or failed -> list

A list replaces everything, so a change that a watch lost heals at the next one, which comes after
`resync_s` at the latest. While the server cannot be reached the last known objects stay.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping

from .client import Kube
from .error import KubeError
from .resource import Object, Resource

BACKOFF_S = 0.2
BACKOFF_MAX_S = 15.0
STEADY_S = 15.0
"""After a life of that long, the next failure counts as the first. A list alone is no life: one
that works says nothing about the watch after it.
"""
PAUSE_S = 1.0
"""At least, between the beginnings of two watches: a server, or a proxy before it, that ends each
at once must not be asked without end.
"""

Changed = Callable[[Mapping[str, Object]], None]
"""Called with all objects by namespace/name, at every change."""

log = logging.getLogger(__name__)


class Informer:
    """One kind in one namespace (None: in all)."""

    def __init__(
        self,
        kube: Kube,
        resource: Resource,
        namespace: str | None,
        changed: Changed,
        *,
        rng: random.Random,
        labels: str = "",
        fields: str = "",
        resync_s: float = 300.0,
    ) -> None:
        self._kube = kube
        self._resource = resource
        self._namespace = namespace
        self._changed = changed
        self._rng = rng
        self._labels = labels
        self._fields = fields
        self._resync_s = resync_s
        self._objects: dict[str, Object] = {}
        self._version = ""
        self.synced = asyncio.Event()
        """Set by the first list, and never cleared: old knowledge is better than none."""
        self.error: KubeError | None = None
        """Why nothing is heard at the moment."""

    @property
    def objects(self) -> Mapping[str, Object]:
        return self._objects

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        clock, backoff_s = asyncio.get_running_loop().time, BACKOFF_S
        while True:
            began = clock()
            try:
                await self._list()
                async with asyncio.timeout(self._resync_s * self._rng.uniform(0.8, 1.2)):
                    while True:
                        watched_at = clock()
                        await self._watch()
                        await asyncio.sleep(max(0.0, watched_at + PAUSE_S - clock()))
            except TimeoutError:
                continue
            except KubeError as error:
                if not error.gone:
                    self._failed(error)
                if clock() - began > STEADY_S:
                    backoff_s = BACKOFF_S
                await asyncio.sleep(backoff_s * self._rng.uniform(0.5, 1.5))
                backoff_s = min(backoff_s * 2, BACKOFF_MAX_S)

    async def _list(self) -> None:
        listing = await self._kube.list(
            self._resource, self._namespace, labels=self._labels, fields=self._fields
        )
        if self.error is not None:
            log.info("%s are heard of again", self._resource.plural)
            self.error = None
        objects = {_key(item): item for item in listing.items}
        self._version = listing.version
        if objects != self._objects or not self.synced.is_set():
            self._objects = objects
            self._changed(objects)
        self.synced.set()

    async def _watch(self) -> None:
        changes = self._kube.watch(
            self._resource,
            self._namespace,
            version=self._version,
            labels=self._labels,
            fields=self._fields,
        )
        async for change in changes:
            self._version = change.version
            if change.type == "BOOKMARK":
                continue
            if change.type == "DELETED":
                self._objects.pop(_key(change.object), None)
            else:
                self._objects[_key(change.object)] = change.object
            self._changed(self._objects)

    def _failed(self, error: KubeError) -> None:
        if self.error is None:
            log.warning("%s are not heard of: %s", self._resource.plural, error)
        self.error = error


def _key(item: Object) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
