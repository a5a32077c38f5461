"""Engines and clients that fail the way real ones do, and what it may cost."""

import asyncio
import random
import time

import aiohttp
import pytest
from support.routing import CHAT, Running, config_for, running
from support.scripted import (
    STREAM_HEAD,
    Behaviour,
    Received,
    ScriptedEngine,
    answer_ok,
    chunk,
    engines,
    event,
)
from support.wire import dial

ROUND_ROBIN = {"workloads": [{"name": "w", "default": True, "routing": {"strategy": "RoundRobin"}}]}


def _after(delay_s: float) -> Behaviour:
    async def behave(
        engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        await asyncio.sleep(delay_s)
        await answer_ok(engine, request, writer)

    return behave


async def test_an_engine_killed_before_the_first_byte_fails_no_request() -> None:
    async with engines(4, behave=_after(0.3)) as fleet, running(config_for(fleet)) as proxy:
        requests = [
            asyncio.ensure_future(proxy.chat(f"{n}", stream=n % 2 == 0)) for n in range(200)
        ]
        while not fleet[0].requests:
            await asyncio.sleep(0.01)
        await fleet[0].kill()

        assert {(await request)[0] for request in requests} == {200}
        await proxy.settled()


async def test_an_engine_killed_in_mid_stream_fails_its_own_streams_at_once() -> None:
    async def endless(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for _token in range(60):
            writer.write(chunk(event("x")))
            await asyncio.sleep(0.02)
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async def stream(proxy: Running) -> tuple[str, float | None]:
        """The serving instance, and when the stream broke (None: it ended well)."""
        body = {"model": "m", "messages": [], "stream": True}
        async with proxy.client.post(proxy.url + CHAT, json=body) as response:
            instance = response.headers["x-steelyard-instance"]
            try:
                await response.read()
            except aiohttp.ClientPayloadError:
                return instance, time.monotonic()
            return instance, None

    config = config_for([], policy=ROUND_ROBIN)
    async with engines(4, behave=endless) as fleet:
        config = config_for(fleet, policy=ROUND_ROBIN)
        async with running(config) as proxy:
            streams = [asyncio.ensure_future(stream(proxy)) for _ in range(40)]
            await asyncio.sleep(0.4)
            killed_at = time.monotonic()
            await fleet[0].kill()
            ends = [await one for one in streams]

            assert {instance for instance, broke in ends if broke is not None} == {"e0"}
            assert sum(broke is not None for _, broke in ends) == 10
            assert max(broke - killed_at for _, broke in ends if broke is not None) < 0.2
            await proxy.settled()


async def test_a_hung_engine_is_shut_out_within_three_tries() -> None:
    async def hang(_: ScriptedEngine, __: Received, ___: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with engines(2) as (hung, good):
        hung.behave = hang
        config = config_for([hung, good], policy=ROUND_ROBIN, timeouts={"first_byte_s": 0.2})
        async with running(config) as proxy:
            for _ in range(12):
                assert (await proxy.chat(stream=True))[0] == 200

            assert len(hung.requests) == 3
            views = (await proxy.status())["instances"]
            assert {view["id"]: view["breaker"] for view in views}["e0"] == "open"


async def test_a_stream_of_an_engine_that_has_died_silently_ends_before_its_own_timeout() -> None:
    """Open connections, no bytes, failing probes: what a real engine may leave on SIGTERM."""

    async def stall(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(event("x")))
        await asyncio.sleep(60)

    async with engines(1, behave=stall) as fleet:
        health = {"interval_s": 0.05, "failures": 2}
        timeouts = {"first_byte_s": 0.3, "between_bytes_s": 30}
        async with running(config_for(fleet, timeouts=timeouts, health=health)) as proxy:
            stream = asyncio.ensure_future(proxy.chat(stream=True))
            await asyncio.sleep(0.2)
            fleet[0].healthy = False
            started = time.monotonic()
            with pytest.raises(aiohttp.ClientPayloadError):
                await stream

            assert time.monotonic() - started < 5
            await proxy.settled()


async def test_an_engine_that_recovers_is_let_in_again_slowly() -> None:
    async with engines(2) as (sick, good):
        await sick.kill()
        breaker = {"failures": 1, "open_s": 0.3, "ramp_s": 0.3}
        config = config_for(
            [sick, good], policy=ROUND_ROBIN, breaker=breaker, health={"interval_s": 0.05}
        )
        async with running(config) as proxy:
            for _ in range(6):
                assert (await proxy.chat())[0] == 200
            await sick.start()
            for _ in range(200):
                await proxy.chat()
                if len(sick.requests) >= 20:
                    break
                await asyncio.sleep(0.02)

            assert len(sick.requests) >= 20


async def test_overload_makes_no_retry_storm_and_no_error() -> None:
    """Two engines that serve four at once with a long queue, and sixty clients."""
    rooms = {"e0": asyncio.Semaphore(4), "e1": asyncio.Semaphore(4)}

    async def queueing(
        engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        async with rooms[engine.name]:
            writer.write(STREAM_HEAD)
            for _token in range(5):
                writer.write(chunk(event("x")))
                await asyncio.sleep(0.02)
            writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with engines(2, behave=queueing) as pair:
        async with running(config_for(pair, timeouts={"first_byte_s": 1.0})) as proxy:
            answers = await asyncio.gather(*(proxy.chat(f"{n}", stream=True) for n in range(120)))

            assert {status for status, _ in answers} == {200}
            upstream = sum(len(engine.requests) for engine in pair)
            assert upstream <= 120 * 1.1
            assert all(view["breaker"] == "closed" for view in (await proxy.status())["instances"])


async def test_connections_closed_at_random_cost_nothing() -> None:
    rng = random.Random(3)

    async def fickle(
        engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        await answer_ok(engine, request, writer)
        if rng.random() < 0.5:
            writer.close()

    async with engines(2, behave=fickle) as pair, running(config_for(pair)) as proxy:
        for n in range(200):
            assert (await proxy.chat(stream=n % 2 == 0))[0] == 200

        assert all(view["breaker"] == "closed" for view in (await proxy.status())["instances"])
        await proxy.settled()


async def test_a_head_that_drips_in_is_given_up_in_time() -> None:
    async def drip(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"y" * 1000:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.02)

    async with engines(2) as (slow, good):
        slow.behave = drip
        timeouts = {"first_byte_s": 0.3, "total_s": 1.0}
        config = config_for([slow, good], policy=ROUND_ROBIN, timeouts=timeouts)
        async with running(config) as proxy:
            started = time.monotonic()
            statuses = {(await proxy.chat(stream=True))[0] for _ in range(4)}

            assert statuses <= {200, 504}
            assert time.monotonic() - started < 5
            await proxy.settled()


@pytest.mark.parametrize("phase", ["head", "body", "wait", "stream", "answered"])
async def test_a_client_may_vanish_in_any_phase(phase: str) -> None:
    async def slow(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        if phase == "wait":
            await asyncio.sleep(30)
        writer.write(STREAM_HEAD + chunk(event("x")))
        if phase == "stream":
            await asyncio.sleep(30)
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    body = b'{"model":"m","stream":true,"messages":[]}'
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(body))
    sent = {"head": head[:30], "body": head + body[:9]}.get(phase, head + body)
    async with engines(1, behave=slow) as fleet, running(config_for(fleet)) as proxy:
        for _ in range(20):
            async with dial(proxy.port) as (reader, writer):
                writer.write(sent)
                if phase in ("stream", "answered"):
                    await reader.readuntil(b"[DONE]" if phase == "answered" else b"choices")
                else:
                    await asyncio.sleep(0.01)

        await proxy.settled()
        assert (await proxy.status())["leases_held"] == 0


async def test_a_client_of_one_byte_a_time_is_served() -> None:
    body = b'{"model":"m","messages":[]}'
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % CHAT.encode()
    request = head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    async with engines(1) as fleet, running(config_for(fleet)) as proxy:
        async with dial(proxy.port) as (reader, writer):
            for byte in request:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.001)
            answer = await reader.read()

        assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_client_that_stops_reading_is_let_go() -> None:
    async def flood(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        while True:
            writer.write(chunk(event("x" * 60000)))
            await writer.drain()

    async with engines(1, behave=flood) as fleet:
        async with running(config_for(fleet, timeouts={"client_write_s": 0.3})) as proxy:
            async with dial(proxy.port) as (_, writer):
                writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's transport reads
                writer.write(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                assert await fleet[0].until_gone(1, within_s=3)
            await proxy.settled()
