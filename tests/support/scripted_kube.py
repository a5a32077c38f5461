"""An API server that answers what a test says, over loopback: for single faults of one request."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from kubernetes.aio.client.configuration import Configuration

from steelyard_router.kube.client import Kube

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class ScriptedKube:
    """`answer` answers everything; `seen` is what came."""

    answer: Answer
    kube: Kube
    seen: list[Seen] = field(default_factory=list)


def status(code: int, reason: str, message: str = "no") -> web.Response:
    """A refusal in the API server's own shape."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return web.json_response(body, status=code)


@contextlib.asynccontextmanager
async def scripted_kube(
    answer: Answer, *, timeout_s: float = 5.0, token: str | None = None
) -> AsyncIterator[ScriptedKube]:
    """With a client connected to it."""

    async def serve(request: web.Request) -> web.StreamResponse:
        text = await request.text()
        server.seen.append(
            Seen(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                json.loads(text) if text else None,
            )
        )
        return await server.answer(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    settings = Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}")
    if token is not None:
        settings.api_key["BearerToken"] = f"Bearer {token}"
    kube = Kube(settings, user_agent="a-test", timeout_s=timeout_s)
    server = ScriptedKube(answer, kube)
    try:
        async with kube:
            yield server
    finally:
        await runner.cleanup()
