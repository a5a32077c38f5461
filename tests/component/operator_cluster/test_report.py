"""What the operator makes of routers' answers, and of those that do not come."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from steelyard_operator.cluster.report import MAX_BYTES, HttpFetch, router_reports

Object = dict[str, Any]


def pod(
    name: str, address: str | None = "10.0.0.1", *, ready: bool = True, **metadata: Any
) -> Object:
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"podIP": address, "conditions": conditions}
    return {"metadata": {"name": name, **metadata}, "status": status}


def says(**answers: object) -> Callable[[str], Awaitable[bytes]]:
    """By the last part of the address."""

    async def fetch(url: str) -> bytes:
        answer = answers["a" + url.split("/")[2].split(":", maxsplit=1)[0].rsplit(".", 1)[1]]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else orjson.dumps(answer)

    return fetch


async def test_a_report_carries_what_the_router_says() -> None:
    answer = {"revision": "abc", "holder": True, "config_error": "bad", "alerts": []}

    (report,) = await router_reports(says(a1=answer), [pod("r")])

    assert (report.pod, report.revision, report.ready) == ("r", "abc", True)
    assert (report.holder, report.config_error, report.reachable) == (True, "bad", True)
    assert report.status == answer


@pytest.mark.parametrize(
    "answer",
    [
        OSError("no route"), TimeoutError(), aiohttp.ClientPayloadError(), ValueError("too much"),
        b"", b"<html>", b"[1]", b"null",
    ],
)  # fmt: skip
async def test_a_router_without_a_usable_answer_is_not_reachable(answer: object) -> None:
    reports = await router_reports(
        says(a1=answer, a2={"revision": "abc"}), [pod("bad"), pod("good", "10.0.0.2")]
    )

    assert [(report.pod, report.reachable) for report in reports] == [
        ("bad", False),
        ("good", True),
    ]
    assert reports[0].revision is None


async def test_pods_without_an_address_or_on_their_way_out_are_not_asked() -> None:
    pods = [pod("new", None), pod("old", deletionTimestamp="2026-01-01T00:00:00Z")]

    assert await router_reports(says(), pods) == ()


async def test_routers_are_asked_at_the_same_time_and_by_their_admin_port() -> None:
    asked: list[str] = []
    all_asked = asyncio.Event()

    async def fetch(url: str) -> bytes:
        asked.append(url)
        if len(asked) == 3:
            all_asked.set()
        await asyncio.wait_for(all_asked.wait(), 5)
        return b"{}"

    pods = [pod("a"), pod("b", "10.0.0.2"), pod("c", "fd00::1", ready=False)]
    reports = await router_reports(fetch, pods)

    assert set(asked) == {
        "http://10.0.0.1:9090/status",
        "http://10.0.0.2:9090/status",
        "http://[fd00::1]:9090/status",
    }
    assert [report.ready for report in reports] == [True, True, False]


@asynccontextmanager
async def served(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[tuple[HttpFetch, str]]:
    app = web.Application()
    app.router.add_get("/status", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession() as session:
            yield HttpFetch(session), f"http://127.0.0.1:{runner.addresses[0][1]}/status"
    finally:
        await runner.cleanup()


async def test_an_answer_is_read_whole() -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * 1_000_000)

    async with served(handler) as (fetch, url):
        assert len(await fetch(url)) == 1_000_000


async def test_an_answer_without_end_is_cut_off() -> None:
    sent = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)
            sent += 65536

    async with served(handler) as (fetch, url):
        with pytest.raises((ValueError, TimeoutError)):
            await fetch(url)
    assert sent < 10 * MAX_BYTES


async def test_an_answer_that_does_not_come_ends_in_time() -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    async with served(handler) as (fetch, url):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(fetch(url), 10)
