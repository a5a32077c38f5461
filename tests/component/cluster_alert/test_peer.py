"""Reading other replicas over real connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from support.observed import MadeUp, observer_of

from steelyard_router.alerts.exchange import Measured
from steelyard_router.alerts.window import Windows
from steelyard_router.cluster import peer
from steelyard_router.cluster.peer import Peers, ask_over_http
from steelyard_router.cluster.replica import Replica
from steelyard_router.config import Alert, RouterConfig
from steelyard_router.observability.admin import make_admin_app
from steelyard_router.observability.observer import Observer

ALERT = Alert(name="slow", metric="Score", threshold=1, window_s=60)
CONFIG = RouterConfig.model_validate({"policy": {"alerts": [ALERT.model_dump()]}})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[int]:
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def replica_of(values: int, now: float) -> web.Application:
    """The admin port of a router that has measured so much."""
    windows = Windows(CONFIG.policy)
    for _ in range(values):
        windows.record("default", "Score", 500.0, now)
    source = MadeUp(Observer(CONFIG, windows, now))
    return make_admin_app(source, clock=lambda: now)


def answering(handler: Handler) -> web.Application:
    app = web.Application()
    app.router.add_get("/histograms", handler)
    return app


def reader(port: int, *replicas: Replica) -> Peers:
    listed = (Replica("me", "me", ready=True), *replicas)
    return Peers(lambda: listed, name="me", host="me", port=port, clock=lambda: 50.0)


def nothing(now: float) -> Measured:
    return Measured.of(CONFIG.policy, Windows(CONFIG.policy), now)


async def test_what_another_replica_measured_is_added() -> None:
    async with serving(replica_of(7, 1000.0)) as port:
        merged = await reader(port, Replica("b", "127.0.0.1", ready=True)).merged(
            nothing, keep_s=60
        )
    found = merged.snapshot("Score", "default", 60, 50.0)

    assert found is not None
    assert found.count == 7


async def test_a_replica_without_alerts_tells_its_meaning_and_nothing_else() -> None:
    async with serving(make_admin_app(MadeUp(observer_of("chat")), clock=lambda: 1.0)) as port:
        told = await ask_over_http(f"http://127.0.0.1:{port}")

    assert told.histograms == {}
    assert len(told.revision) == 12


async def _wrong(request: web.Request) -> web.StreamResponse:
    return web.json_response({"error": "no such thing"}, status=404)


async def _nonsense(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"<html>")


async def _list(request: web.Request) -> web.StreamResponse:
    return web.json_response([1, 2])


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await response.write(b" " * 65536)
    return response


async def _cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    assert request.transport is not None
    request.transport.abort()
    return response


@pytest.mark.parametrize("handler", [_wrong, _nonsense, _list, _endless, _cut])
async def test_whatever_another_answers_the_reader_goes_on(
    handler: Handler, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "MAX_BYTES", 1_000_000)
    async with serving(answering(handler)) as port:
        peers = reader(port, Replica("b", "127.0.0.1", ready=True))
        merged = await peers.merged(nothing, keep_s=60)

    assert merged.snapshot("Score", "default", 60, 50.0) is not None
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        "router replica b cannot be read: alerts go by what it told last"
    ]


async def test_one_that_hangs_costs_the_timeout_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peer, "TIMEOUT_S", 0.2)
    over = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        if request.host.startswith("127.0.0.2"):
            await over.wait()
        return web.json_response(nothing(1.0).to_dict())

    runner = web.AppRunner(answering(hang))
    await runner.setup()
    site = web.TCPSite(runner, "0.0.0.0", 0)
    await site.start()
    port = int(runner.addresses[0][1])
    try:
        hosts = (Replica("b", "127.0.0.2", ready=True), Replica("c", "127.0.0.3", ready=True))
        peers = reader(port, *hosts)
        await peers.merged(nothing, keep_s=60)
    finally:
        over.set()
        await runner.cleanup()

    heard = {name: other.measured is not None for name, other in peers._others._others.items()}
    assert heard == {"b": False, "c": True}


async def test_nobody_there_is_no_error() -> None:
    async with serving(web.Application()) as port:
        pass  # a port that is free again
    with pytest.raises(OSError, match=r"."):
        await ask_over_http(f"http://127.0.0.1:{port}")
