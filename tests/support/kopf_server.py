"""As much of an API server as kopf needs: discovery, lists and watches, over loopback."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from steelyard_operator.cluster.watched import LABELLED, OWN
from steelyard_router.kube.resource import Resource
from support.loopback_api import LoopbackApi

KINDS = (*OWN, *LABELLED)
Object = dict[str, Any]
TOKEN = {"token": "t"}
"""A user of its kubeconfig: kopf wants credentials."""


class KopfServer(LoopbackApi):
    """`refused` holds plurals that are answered with 403; `lists` what is there, by plural."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()
        self.missing: set[str] = set()
        """Plurals that discovery does not know."""
        self.lists: dict[str, list[Object]] = {}
        self.requests: list[web.Request] = []
        self.watches: dict[str, list[asyncio.Queue[bytes | None]]] = {}
        self.version = 10
        """What was before is forgotten: a watch from there is answered with 410."""

    def tell(self, plural: str, kind: str, body: Object) -> None:
        """A change, to all watches of a kind."""
        for queue in self.watches.get(plural, ()):
            queue.put_nowait(json.dumps({"type": kind, "object": body}).encode() + b"\n")

    def hang_up(self) -> None:
        for queues in self.watches.values():
            for queue in queues:
                queue.put_nowait(None)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        parts = request.path.strip("/").split("/")
        if parts == ["api"]:
            return web.json_response({"versions": ["v1"]})
        if parts == ["apis"]:
            return web.json_response({"groups": _groups()})
        if len(parts) == 2 + (parts[0] == "apis"):
            return self._discovery(parts)
        plural = parts[-1]
        if plural in self.refused:
            message = f'User "x" cannot list resource "{plural}"'
            body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
            return web.json_response(body, status=403)
        if request.query.get("watch"):
            return await self._watch(request, plural)
        metadata = {"resourceVersion": str(self.version)}
        return web.json_response({"metadata": metadata, "items": self.lists.get(plural, [])})

    def _discovery(self, parts: list[str]) -> web.Response:
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        kinds = [
            _described(kind)
            for kind in KINDS
            if (kind.group, kind.version) == (group, version) and kind.plural not in self.missing
        ]
        if not group:
            kinds.append(_described(Resource("", "v1", "Namespace", "namespaces", False)))
            kinds.append(_described(Resource("", "v1", "Event", "events")))
        return web.json_response({"kind": "APIResourceList", "resources": kinds})

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        if int(request.query["resourceVersion"]) < self.version:
            error = {"code": 410, "reason": "Expired", "message": "too old resource version"}
            await response.write(json.dumps({"type": "ERROR", "object": error}).encode() + b"\n")
            return response
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.watches.setdefault(plural, []).append(queue)
        try:
            while (line := await queue.get()) is not None:
                await response.write(line)
        finally:
            self.watches[plural].remove(queue)
        return response


def _groups() -> list[Object]:
    versions = {(kind.group, kind.version) for kind in KINDS if kind.group}
    versions.add(("apiextensions.k8s.io", "v1"))
    return [
        {
            "name": group,
            "versions": [{"groupVersion": f"{group}/{version}", "version": version}],
            "preferredVersion": {"groupVersion": f"{group}/{version}", "version": version},
        }
        for group, version in sorted(versions)
    ]


def _described(kind: Resource) -> Object:
    return {
        "name": kind.plural,
        "singularName": kind.kind.lower(),
        "kind": kind.kind,
        "namespaced": kind.namespaced,
        "verbs": ["get", "list", "watch", "patch", "create", "delete"],
    }


@contextlib.asynccontextmanager
async def kopf_server() -> AsyncIterator[KopfServer]:
    server = KopfServer()
    await server.up()
    try:
        yield server
    finally:
        await server.down()
