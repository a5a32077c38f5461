"""An API server in memory, on a clock of the test's own: versions, conflicts, Events that expire,
answers that get lost. What it promises here is checked on a real one in tests/cluster.
"""

import asyncio
import copy
from collections.abc import Callable
from typing import Any

from steelyard_router.kube.client import Kube, Listing
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import OCCURRENCE
from steelyard_router.kube.resource import EVENT, Object, Resource, of

EVENT_TTL_S = 3600.0

Key = tuple[str, str | None, str]
UNREACHABLE = KubeError(0, "Unreachable", "API server: no way to it")


class MemoryKube(Kube):
    """One server. `client()` is a connection to it, which can be cut by itself."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.objects: dict[Key, Object] = {}
        self.writes: list[tuple[str, str]] = []
        """(verb, name) of every write that took effect."""
        self.occurrences: list[tuple[str, str]] = []
        """(name, occurrence) of every write of an Event that took effect."""
        self.unreadable = False
        """Whether lists are forbidden."""
        self.away = False
        self.lose_answers = 0
        """So many writes take effect without anybody hearing of it."""
        self.refuse: KubeError | None = None
        """What every write gets as its answer, or only those of `refused_kind`."""
        self.refused_kind: str | None = None
        self._version = 0
        self._written_at: dict[Key, float] = {}

    def client(self) -> "Client":
        return Client(self)

    def of_kind(self, resource: Resource) -> list[Object]:
        """What is there, without the noise of a request."""
        self._expire()
        return [item for (plural, *_), item in self.objects.items() if plural == resource.plural]

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        await self._enter()
        return copy.deepcopy(self.objects.get((resource.plural, namespace, name)))

    async def list(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        await self._enter()
        if self.unreadable:
            raise KubeError(403, "Forbidden", f"{resource.plural} are forbidden")
        path, _, value = fields.partition("=")
        found = [
            copy.deepcopy(item)
            for (plural, place, _), item in self.objects.items()
            if (plural, place) == (resource.plural, namespace)
            and (not path or _at(item, path) == value)
        ]
        return Listing(tuple(found), str(self._version))

    async def create(self, body: Object) -> Object:
        await self._enter(write=body["kind"])
        metadata = body["metadata"]
        key = (of(body).plural, metadata.get("namespace"), metadata["name"])
        if key in self.objects:
            raise KubeError(409, "AlreadyExists", f"{key} already exists")
        return self._store("create", key, copy.deepcopy(body))

    async def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Any,
        *,
        subresource: str = "",
    ) -> Object:
        await self._enter(write=resource.kind)
        key = (resource.plural, namespace, name)
        live = self._guard(key, patch)
        return self._store("merge", key, _merged(live, patch))

    async def replace(self, body: Object, *, subresource: str = "") -> Object:
        await self._enter(write=body["kind"])
        metadata = body["metadata"]
        key = (of(body).plural, metadata.get("namespace"), metadata["name"])
        self._guard(key, body)
        return self._store("replace", key, copy.deepcopy(body))

    async def close(self) -> None:
        return None

    async def _enter(self, *, write: str | None = None) -> None:
        await asyncio.sleep(0)  # others may come between, as they do on a network
        if self.away:
            raise UNREACHABLE
        if write and self.refuse is not None and self.refused_kind in (None, write):
            raise self.refuse
        self._expire()

    def _guard(self, key: Key, body: Any) -> Object:
        live = self.objects.get(key)
        if live is None:
            raise KubeError(404, "NotFound", f"{key} not found")
        version = body["metadata"].get("resourceVersion")
        if version not in (None, live["metadata"]["resourceVersion"]):
            raise KubeError(409, "Conflict", f"{key} has been modified")
        return live

    def _store(self, verb: str, key: Key, item: Object) -> Object:
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        self.objects[key] = item
        self._written_at[key] = self.clock()
        self.writes.append((verb, key[2]))
        if item["kind"] == EVENT.kind:
            annotations = item["metadata"].get("annotations") or {}
            self.occurrences.append((key[2], annotations[OCCURRENCE]))
        if self.lose_answers:
            self.lose_answers -= 1
            raise UNREACHABLE
        return copy.deepcopy(item)

    def _expire(self) -> None:
        for key in [key for key in self.objects if key[0] == EVENT.plural]:
            if self.clock() - self._written_at[key] > EVENT_TTL_S:
                del self.objects[key]


class Client(MemoryKube):
    """A connection. `cut`: nothing gets through any more; `cut_after`: after so many Events."""

    def __init__(self, server: MemoryKube) -> None:
        super().__init__(server.clock)
        self.cut = False
        self.cut_after: int | None = None
        self._server = server

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        return await self._through().get(resource, namespace, name)

    async def list(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        return await self._through().list(resource, namespace, labels=labels, fields=fields)

    async def create(self, body: Object) -> Object:
        return await self._through(body["kind"]).create(body)

    async def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Any,
        *,
        subresource: str = "",
    ) -> Object:
        return await self._through(resource.kind).merge(resource, namespace, name, patch)

    async def replace(self, body: Object, *, subresource: str = "") -> Object:
        return await self._through().replace(body)

    def _through(self, written: str | None = None) -> MemoryKube:
        if written == EVENT.kind and self.cut_after is not None:
            self.cut = self.cut or self.cut_after == 0
            self.cut_after -= 1
        if self.cut:
            raise UNREACHABLE
        return self._server


def _at(item: Object, path: str) -> object:
    value: Any = item
    for part in path.split("."):
        value = value.get(part, {})
    return value


def _merged(live: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(live) if isinstance(live, dict) else {}
    for name, part in patch.items():
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), part)
    return merged
