"""A small API server over loopback, for the faults that a real one does not have on demand.

It keeps objects by path, lists and watches them with label and name selectors, and writes them by
POST, PUT, PATCH (merge) and DELETE. A test makes it refuse, forget its history or hang up.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from support.loopback_api import LoopbackApi

Object = dict[str, Any]


class FakeKube(LoopbackApi):
    """`down()` closes the port and every connection; `up()` opens the same port again."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, dict[str, Object]] = {}
        """Collection path -> name -> object."""
        self.requests: list[str] = []
        self.forgets = False
        """Watches end with 410 at once."""
        self.breaks = False
        """Every request is answered with 500."""
        self._version = 1000
        self._history: list[tuple[int, str, str, Object]] = []
        """Version, collection, kind of change, object."""
        self._watches: dict[asyncio.Queue[bytes | None], tuple[str, Any]] = {}

    # -- what a test does -------------------------------------------------------------------------

    def put(self, path: str, item: Object) -> Object:
        """`path` is that of the collection."""
        name = item["metadata"]["name"]
        there = self.objects.setdefault(path, {})
        kind = "MODIFIED" if name in there else "ADDED"
        self._version += 1
        item = json.loads(json.dumps(item))
        item["metadata"]["resourceVersion"] = str(self._version)
        there[name] = item
        self._tell(path, kind, item)
        return item

    def remove(self, path: str, name: str, *, silently: bool = False) -> None:
        """`silently`: no watch hears of it, as when a DELETED is lost."""
        item = self.objects[path].pop(name)
        self._version += 1
        if not silently:
            item["metadata"]["resourceVersion"] = str(self._version)
            self._tell(path, "DELETED", item)

    def hang_up(self) -> None:
        for queue in list(self._watches):
            queue.put_nowait(None)

    @property
    def watched(self) -> list[str]:
        return [path for path, _ in self._watches.values()]

    # -- what the server does ---------------------------------------------------------------------

    def _tell(self, path: str, kind: str, item: Object) -> None:
        self._history.append((self._version, path, kind, item))
        for queue, (watched, query) in self._watches.items():
            if watched == path and _selected(item, query):
                queue.put_nowait(json.dumps({"type": kind, "object": item}).encode() + b"\n")

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        if self.breaks:
            return _status(500, "InternalError")
        if request.method == "GET" and request.query.get("watch"):
            return await self._watch(request)
        if request.method == "GET" and self._is_collection(request.path):
            there = self.objects.get(request.path, {}).values()
            return web.json_response(
                {
                    "metadata": {"resourceVersion": str(self._version)},
                    "items": [item for item in there if _selected(item, request.query)],
                }
            )
        return await self._single(request)

    def _is_collection(self, path: str) -> bool:
        return len(path.rstrip("/").split("/namespaces/", 1)[1].split("/")) == 2

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        if self.forgets:
            status = {"code": 410, "reason": "Expired", "message": "too old resource version"}
            line = json.dumps({"type": "ERROR", "object": status}).encode()
            await response.write(line + b"\n")
            return response
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._watches[queue] = request.path, request.query
        since = int(request.query.get("resourceVersion", "0"))
        for version, path, kind, item in self._history:
            if version > since and path == request.path and _selected(item, request.query):
                queue.put_nowait(json.dumps({"type": kind, "object": item}).encode() + b"\n")
        try:
            while (line_or_end := await queue.get()) is not None:
                await response.write(line_or_end)
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._watches.pop(queue, None)
        return response

    async def _single(self, request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return web.json_response(self.put(request.path, await request.json()), status=201)
        path, name = request.path.rsplit("/", 1)
        there = self.objects.get(path, {}).get(name)
        if there is None:
            return _status(404, "NotFound")
        if request.method == "DELETE":
            self.remove(path, name)
        if request.method in {"GET", "DELETE"}:
            return web.json_response(there)
        body = await request.json()
        asked = body.get("metadata", {}).get("resourceVersion")
        if asked is not None and asked != there["metadata"]["resourceVersion"]:
            return _status(409, "Conflict")
        changed = _merged(there, body) if request.method == "PATCH" else body
        return web.json_response(self.put(path, changed))


def _status(code: int, reason: str) -> web.Response:
    return web.json_response(
        {"kind": "Status", "code": code, "reason": reason, "message": reason}, status=code
    )


def _merged(there: Object, patch: Object) -> Object:
    result = dict(there)
    for key, value in patch.items():
        old = result.get(key)
        if value is None:
            result.pop(key, None)
        else:
            nested = isinstance(value, dict) and isinstance(old, dict)
            result[key] = _merged(old, value) if nested and isinstance(old, dict) else value
    return result


def _selected(item: Object, query: Any) -> bool:
    labels = item["metadata"].get("labels", {})
    wanted = [part.split("=", 1) for part in query.get("labelSelector", "").split(",") if part]
    if any(labels.get(key) != value for key, value in wanted):
        return False
    fields = [part.split("=", 1) for part in query.get("fieldSelector", "").split(",") if part]
    return all(key != "metadata.name" or item["metadata"]["name"] == value for key, value in fields)


@contextlib.asynccontextmanager
async def fake_kube() -> AsyncIterator[FakeKube]:
    server = FakeKube()
    await server.up()
    try:
        yield server
    finally:
        await server.down()
