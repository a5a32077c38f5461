"""The drain script of an engine's pod, as a process of its own before real and scripted servers."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator

import pytest
from support.engine_server import CHAT, engine, until_running

from steelyard_operator.plan.child import drain_script
from steelyard_simulator.server.settings import Settings

SETTLE_S = 0.05
ENOUGH_S = 60.0
"""Longer than any of this can take: a script that ends by itself ends long before."""


async def start(port: int, limit_s: float) -> asyncio.subprocess.Process:
    _, *arguments = drain_script.command(port=port, settle_s=SETTLE_S, limit_s=limit_s)
    return await asyncio.create_subprocess_exec(sys.executable, *arguments)


@contextlib.asynccontextmanager
async def draining(port: int, limit_s: float = ENOUGH_S) -> AsyncIterator[asyncio.Task[int]]:
    process = await start(port, limit_s)
    try:
        yield asyncio.create_task(process.wait())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Page:
    """A server whose metrics say what the test wants; counts how often it was asked."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.asked = 0
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]

    async def until_asked(self, times: int) -> None:
        async with asyncio.timeout(ENOUGH_S), self._changed:
            await self._changed.wait_for(lambda: self.asked >= times)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = self.page.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()
        self.asked += 1
        async with self._changed:
            self._changed.notify_all()


async def test_a_running_stream_is_waited_for() -> None:
    settings = Settings(model="tiny", speed=0.5)
    async with engine(settings) as (server, client):
        body = {**CHAT, "stream": True, "max_tokens": 100_000, "ignore_eos": True}
        async with client.post("/v1/chat/completions", json=body) as response:
            await until_running(server, 1)
            port = int(server.url.rpartition(":")[2])
            async with draining(port) as ended:
                done, _ = await asyncio.wait({ended}, timeout=2.5)
                assert not done
                response.close()  # the request is over

                assert await asyncio.wait_for(ended, ENOUGH_S / 2) == 0


async def test_an_idle_engine_may_go_soon() -> None:
    async with engine() as (server, _):
        port = int(server.url.rpartition(":")[2])
        async with draining(port) as ended:
            assert await asyncio.wait_for(ended, ENOUGH_S / 2) == 0


async def test_one_moment_without_requests_is_not_enough() -> None:
    page = Page("vllm:num_requests_running 0\n")
    async with page.serving() as port, draining(port) as ended:
        await page.until_asked(1)
        page.page = "vllm:num_requests_running 1\n"
        await page.until_asked(3)
        assert not ended.done()
        page.page = "vllm:num_requests_running 0\n"

        assert await asyncio.wait_for(ended, ENOUGH_S / 2) == 0
        assert page.asked == 5


@pytest.mark.parametrize(
    "busy",
    [
        'vllm:num_requests_running{engine="0",model_name="a b"} 1.0\nvllm:num_requests_waiting 0\n',
        "vllm:num_requests_running 0\nvllm:num_requests_waiting 2\n",
        'sglang:num_running_reqs{tp_rank="0"} 0\nsglang:num_running_reqs{tp_rank="1"} 3\n',
        "sglang:num_queue_reqs 1e0\n",
        "",
        "some_other_metric 0\n",
        'vllm:num_requests_waiting_by_reason{reason="capacity"} 0\n',
        "vllm:num_requests_running what\n",
    ],
)
async def test_an_engine_that_is_busy_or_does_not_say_gets_all_the_time(busy: str) -> None:
    page = Page(busy)
    began = time.monotonic()
    async with page.serving() as port, draining(port, limit_s=1.0) as ended:
        assert await asyncio.wait_for(ended, ENOUGH_S) == 0

    assert time.monotonic() - began >= 1.0
    assert page.asked >= 2


@pytest.mark.parametrize(
    "idle",
    [
        'vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting{engine="0"} 0.0\n',
        'sglang:num_running_reqs{tp_rank="0"} 0\nsglang:num_queue_reqs 0\nother{a="b"} 7\n',
    ],
)
async def test_each_engines_names_are_known(idle: str) -> None:
    page = Page(idle)
    async with page.serving() as port, draining(port) as ended:
        assert await asyncio.wait_for(ended, ENOUGH_S / 2) == 0

    assert page.asked == 2


async def test_an_engine_that_does_not_listen_is_not_waited_for() -> None:
    async with Page("").serving() as port:
        pass
    async with draining(port) as ended:
        assert await asyncio.wait_for(ended, ENOUGH_S / 2) == 0


async def test_nothing_is_asked_before_routers_have_heard() -> None:
    page = Page("vllm:num_requests_running 0\n")
    async with page.serving() as port:
        _, *arguments = drain_script.command(port=port, settle_s=1.0, limit_s=ENOUGH_S)
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
        await page.until_asked(1)
        asked_s = time.monotonic() - began
        assert await process.wait() == 0

    assert asked_s >= 1.0
