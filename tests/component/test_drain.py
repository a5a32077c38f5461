"""On SIGTERM: nothing new is accepted, streams end within the grace, what is left is closed."""

import asyncio

import aiohttp
import pytest
from support.routing import config_for, running
from support.scripted import STREAM_HEAD, Behaviour, Received, ScriptedEngine, chunk, engines, event
from support.wire import dial


def _stream_until(release: asyncio.Event) -> Behaviour:
    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(event("first")))
        await writer.drain()
        await release.wait()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    return behave


async def test_running_streams_finish_and_new_connections_are_refused() -> None:
    release = asyncio.Event()
    async with (
        engines(2, behave=_stream_until(release)) as pair,
        running(config_for(pair)) as proxy,
    ):
        streams = [asyncio.ensure_future(proxy.chat(f"{n}", stream=True)) for n in range(200)]
        while sum(len(engine.requests) for engine in pair) < 200:
            await asyncio.sleep(0.01)
        drain = asyncio.ensure_future(proxy.router.server.drain(10))
        await asyncio.sleep(0.05)
        with pytest.raises(aiohttp.ClientConnectorError):
            await proxy.chat("late")
        async with proxy.client.get(proxy.admin + "/readyz") as response:
            assert response.status == 503
        release.set()
        answers = await asyncio.gather(*streams)

        assert await drain == 0
        assert all(status == 200 and body.endswith(b"[DONE]\n\n") for status, body in answers)
        await proxy.settled()


async def test_what_does_not_end_within_the_grace_is_cut_off() -> None:
    async with engines(1, behave=_stream_until(asyncio.Event())) as (engine,):
        async with running(config_for([engine])) as proxy:
            stream = asyncio.ensure_future(proxy.chat(stream=True))
            while not engine.requests:
                await asyncio.sleep(0.01)

            assert await proxy.router.server.drain(0.3) == 1
            with pytest.raises(aiohttp.ClientError):
                await stream
            await proxy.settled()


async def test_a_slow_reader_holds_the_engine_back_not_the_routers_memory() -> None:
    sent = 0

    async def flood(
        _engine: ScriptedEngine, _request: Received, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal sent
        writer.write(STREAM_HEAD)
        block = chunk(b"data: " + b"x" * 65536 + b"\n\n")
        for _number in range(800):
            writer.write(block)
            await writer.drain()
            sent += len(block)
        writer.write(b"0\r\n\r\n")

    async with engines(1, behave=flood) as fleet, running(config_for(fleet)) as proxy:
        async with dial(proxy.port, limit=65536) as (reader, writer):
            writer.write(b"GET /flood HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.5)
            held_back = sent
            total = len(await reader.read())

        assert held_back < 20_000_000, "the flood must stop at the buffers of the sockets"
        assert total > 50_000_000
