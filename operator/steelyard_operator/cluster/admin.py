"""The operator's port: /healthz, /readyz and /metrics."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from steelyard_operator.errors import ClusterError


@asynccontextmanager
async def admin_server(
    host: str,
    port: int,
    *,
    broken: Callable[[], Sequence[str]],
    problems: Callable[[], Sequence[str]],
    metrics: Callable[[], bytes],
) -> AsyncIterator[int]:
    """Serves until the block ends; gives the port (0 asks for any). Raises ClusterError."""

    async def healthz(_: web.Request) -> web.Response:
        return _said(broken())

    async def readyz(_: web.Request) -> web.Response:
        return _said(problems())

    async def scrape(_: web.Request) -> web.Response:
        return web.Response(body=metrics(), content_type="text/plain", charset="utf-8")

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", scrape)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise ClusterError(
                f"port {port} on {host} cannot be used ({error.strerror}); choose another: --port"
            ) from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _said(found: Sequence[str]) -> web.Response:
    text = "\n".join(found) or "ok"
    return web.Response(status=503 if found else 200, text=f"{text}\n")
