"""The simulated server as an aiohttp application, and as something that runs, drains and dies."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import orjson
from aiohttp import web

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.server import (
    admin,
    chat,
    completion,
    info,
    pooling,
    response,
)
from steelyard_simulator.server.backend import BACKEND, Backend
from steelyard_simulator.server.error import ApiError, error_object
from steelyard_simulator.server.generation import hang_up
from steelyard_simulator.server.settings import Settings

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY_BYTES = 64 * 1024 * 1024
LAST_WORDS_S = 1.0
"""Real seconds for handlers to end after their connections were reset."""


def make_app(settings: Settings) -> web.Application:
    """The application. Its runner needs handler_cancellation=True, or else a client that leaves
    without streaming keeps its job running."""
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[_guard])
    backend = Backend(settings)
    app[BACKEND] = backend
    app.add_routes(
        [
            web.post("/v1/chat/completions", _inference(chat.handle)),
            web.post("/v1/completions", _inference(completion.handle)),
            web.post("/v1/responses", _inference(response.handle)),
            web.post("/v1/embeddings", _inference(pooling.embed)),
            web.post("/v1/rerank", _inference(pooling.rerank)),
            web.post("/v1/score", _inference(pooling.score)),
            web.post("/tokenize", info.tokenize),
            web.get("/v1/models", info.models),
            web.get("/health", info.health),
            web.get("/ping", info.health),
            web.get("/version", info.version),
            web.get("/load", info.load),
            web.get("/metrics", info.metrics),
            web.get(admin.PATH, admin.show),
            web.post(admin.PATH, admin.change),
        ]
    )

    async def close(_: web.Application) -> None:
        backend.driver.close()

    app.on_cleanup.append(close)
    return app


class EngineServer:
    """A server that listens. `engine` shows the model's state; read it, do not drive it."""

    def __init__(self, runner: web.AppRunner, backend: Backend, url: str) -> None:
        self._runner = runner
        self.backend = backend
        self.url = url

    @property
    def engine(self) -> Engine:
        return self.backend.engine

    async def drain(self) -> None:
        """Stops listening and gives running requests drain_s, or nothing if the server is
        abrupt."""
        self.backend.draining = True
        await self._close_listener()
        settings = self.backend.settings
        grace_s = 0.0 if settings.abrupt else settings.drain_s
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self.backend.idle.wait()
        self._reset_connections()

    async def kill(self) -> None:
        """Goes away as a crashed process does: no listener, every connection reset."""
        await self._close_listener()
        self._reset_connections()

    async def _close_listener(self) -> None:
        for site in list(self._runner.sites):
            await site.stop()

    def _reset_connections(self) -> None:
        server = self._runner.server
        for connection in list(server.connections) if server else ():
            if connection.transport is not None:
                connection.transport.abort()


@asynccontextmanager
async def serve(
    settings: Settings, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[EngineServer]:
    """Runs a server in this event loop; OSError if the address cannot be had.

    Leaving the block ends it at once; call drain() before for a graceful end.
    """
    app = make_app(settings)
    runner = web.AppRunner(
        app, handler_cancellation=True, access_log=None, shutdown_timeout=LAST_WORDS_S
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=1024)
        await site.start()
        bound_host, bound_port = runner.addresses[0][:2]
        name = f"[{bound_host}]" if ":" in bound_host else bound_host
        server = EngineServer(runner, app[BACKEND], f"http://{name}:{bound_port}")
        yield server
        await server.kill()
    finally:
        await runner.cleanup()


def _inference(handler: Handler) -> Handler:
    """Counts the request, and lets it meet the faults before its handler."""

    async def run(request: web.Request) -> web.StreamResponse:
        backend = request.app[BACKEND]
        backend.enter()
        try:
            await backend.admit()
            return await handler(request)
        finally:
            backend.leave()

    return run


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns errors into answers; while the server refuses, closes the connection instead."""
    if request.app[BACKEND].faults.refuse and request.path != admin.PATH:
        return hang_up(request)
    try:
        return await handler(request)
    except ApiError as error:
        return web.Response(status=error.status, body=error.body(), content_type="application/json")
    except web.HTTPException as error:
        if error.status < 400:
            raise
        body = error_object(error.status, error.reason, f"{request.path}: {error.reason}", None)
        return web.Response(
            status=error.status, body=orjson.dumps(body), content_type="application/json"
        )
