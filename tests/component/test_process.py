"""What only a process of its own shows: memory under load, signals, thousands of connections."""

import asyncio
import contextlib
import resource
from pathlib import Path

import aiohttp
import pytest
from support.process import router_process
from support.routing import config_for
from support.scripted import STREAM_HEAD, Behaviour, Received, ScriptedEngine, chunk, engines, event
from support.wire import dial

MIB = 2**20


def _flood(total_bytes: int) -> Behaviour:
    block = chunk(b"data: " + b"x" * 65536 + b"\n\n")

    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for _block in range(total_bytes // len(block)):
            writer.write(block)
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    return behave


async def test_a_reader_of_one_mb_a_second_costs_less_than_20_mb(tmp_path: Path) -> None:
    """The first seconds of a 200 MB stream: the buffers are full long before they end."""
    async with (
        engines(1, behave=_flood(200 * MIB)) as fleet,
        router_process(config_for(fleet), tmp_path) as router,
        dial(router.port) as (reader, writer),
    ):
        before = router.rss_bytes()
        writer.write(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
        most = 0
        for _ in range(40):
            await reader.readexactly(MIB // 10)
            await asyncio.sleep(0.1)
            most = max(most, router.rss_bytes() - before)

        assert most < 20 * MIB


async def test_five_thousand_idle_connections_fit_in_200_mb(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 12_000:
        pytest.skip(f"the limit of open files is {hard}; this needs 12,000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 12_000), hard))
    async with (
        engines(1) as fleet,
        router_process(config_for(fleet), tmp_path) as router,
        contextlib.AsyncExitStack() as stack,
    ):
        for _ in range(5000):
            await stack.enter_async_context(dial(router.port))
        async with aiohttp.ClientSession() as client, client.get(router.url + "/x") as response:
            assert response.status == 200

        assert router.rss_bytes() < 200 * MIB


async def test_sigterm_lets_two_hundred_streams_finish(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(event("first")))
        await release.wait()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async def stream(client: aiohttp.ClientSession, url: str) -> bytes:
        body = {"model": "m", "messages": [], "stream": True}
        async with client.post(url + "/v1/chat/completions", json=body) as response:
            return await response.read()

    connector = aiohttp.TCPConnector(limit=0)
    async with (
        engines(2, behave=behave) as fleet,
        router_process(config_for(fleet), tmp_path) as router,
        aiohttp.ClientSession(connector=connector) as client,
    ):
        streams = [asyncio.ensure_future(stream(client, router.url)) for _ in range(200)]
        while sum(len(engine.requests) for engine in fleet) < 200:
            await asyncio.sleep(0.01)
        router.terminate()
        await asyncio.sleep(0.2)
        release.set()
        answers = await asyncio.gather(*streams)
        async with asyncio.timeout(10):
            code = await router.process.wait()

        assert code == 0
        assert all(answer.endswith(b"[DONE]\n\n") for answer in answers)
