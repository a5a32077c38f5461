"""An engine that fails before the first byte costs the client nothing; after it, the client is
told.
"""

import asyncio
import json
from dataclasses import replace

import aiohttp
import pytest
from support.routing import config_for, running
from support.scripted import (
    STREAM_HEAD,
    Behaviour,
    Received,
    ScriptedEngine,
    answer_ok,
    chunk,
    engines,
    event,
    plain,
)

QUICK = {"connect_s": 0.3, "first_byte_s": 0.3, "between_bytes_s": 0.3, "total_s": 1.5}
ROUND_ROBIN = {"workloads": [{"name": "w", "default": True, "routing": {"strategy": "RoundRobin"}}]}


def raw(data: bytes, *, close: bool = True) -> Behaviour:
    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if close:
            writer.transport.abort()

    return behave


async def hang(_: ScriptedEngine, __: Received, ___: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


def error_first(_: None = None) -> Behaviour:
    return raw(
        STREAM_HEAD
        + chunk(b'data: {"error": {"message": "engine died", "code": 500}}\n\n')
        + chunk(b"data: [DONE]\n\n")
        + b"0\r\n\r\n",
        close=False,
    )


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(raw(b""), id="closes at once"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Ty"), id="closes within the head"),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), id="closes before the body"
        ),
        pytest.param(raw(b"\x16\x03\x01 nonsense\r\n\r\n", close=False), id="speaks no HTTP"),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n", close=False), id="bad length"
        ),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 400_000, close=False), id="endless head"
        ),
        pytest.param(raw(plain(b"{}", status=500), close=False), id="500"),
        pytest.param(raw(plain(b"{}", status=503), close=False), id="503"),
        pytest.param(error_first(), id="error as the first event"),
        pytest.param(hang, id="never answers"),
    ],
)
async def test_a_failure_before_the_first_byte_is_retried_on_another_instance(
    failure: Behaviour,
) -> None:
    async with engines(2) as (bad, good):
        bad.behave = failure
        config = config_for([bad, good], timeouts=QUICK, policy=ROUND_ROBIN)
        async with running(config) as proxy:
            for _ in range(4):
                status, body = await proxy.chat(stream=True)
                assert status == 200
                assert body.count(b"choices") == 4

            assert bad.requests
            await proxy.settled()


async def test_a_refusing_instance_is_passed_over_and_its_breaker_opens() -> None:
    async with engines(2) as (dead, good):
        config = config_for(
            [dead, good], timeouts=QUICK, policy=ROUND_ROBIN, health={"interval_s": 60}
        )
        async with running(config) as proxy:
            await asyncio.sleep(0.05)
            await dead.kill()
            statuses = {(await proxy.chat())[0] for _ in range(20)}

            assert statuses == {200}
            states = {view["id"]: view["breaker"] for view in (await proxy.status())["instances"]}
            assert states == {"e0": "open", "e1": "closed"}


async def test_when_every_instance_fails_the_client_gets_one_clear_error() -> None:
    async with (
        engines(2, behave=raw(b"")) as pair,
        running(config_for(pair, timeouts=QUICK)) as proxy,
    ):
        status, body = await proxy.chat()

        assert status == 502
        assert json.loads(body)["error"]["code"] == "upstream_error"
        await proxy.settled()


async def test_a_request_that_kills_engines_takes_two_of_them_not_all() -> None:
    async with engines(4, behave=raw(b"")) as fleet, running(config_for(fleet)) as proxy:
        assert (await proxy.chat())[0] == 502

        assert sum(len(engine.requests) for engine in fleet) == 2


async def test_without_a_usable_instance_the_answer_is_503_with_retry_after() -> None:
    async with engines(1) as (engine,):
        await engine.kill()
        async with running(config_for([engine], timeouts=QUICK, breaker={"failures": 1})) as proxy:
            await proxy.chat()
            async with proxy.client.post(
                proxy.url + "/v1/completions", json={"prompt": "x"}
            ) as response:
                assert response.status == 503
                assert int(response.headers["retry-after"]) >= 1
                assert (await response.json())["error"]["code"] == "no_instance"


async def test_the_engines_own_error_is_shown_when_nobody_else_can_answer() -> None:
    answer = raw(plain(b'{"error":{"message":"CUDA"}}', status=500), close=False)
    async with engines(1, behave=answer) as (engine,), running(config_for([engine])) as proxy:
        status, body = await proxy.chat()

        assert (status, body) == (500, b'{"error":{"message":"CUDA"}}')


async def test_a_stream_that_breaks_says_so_and_is_never_retried() -> None:
    broken = raw(STREAM_HEAD + chunk(event("a")) + chunk(event("b")))
    async with engines(2) as (bad, good):
        bad.behave = broken
        good.behave = broken
        async with running(config_for([bad, good], timeouts=QUICK)) as proxy:
            received = b""
            with pytest.raises(aiohttp.ClientPayloadError):
                async with proxy.client.post(
                    proxy.url + "/v1/chat/completions",
                    json={"model": "m", "messages": [], "stream": True},
                ) as response:
                    async for data in response.content.iter_any():
                        received += data

            assert received.count(b"choices") == 2
            assert b'"stream_broken"' in received
            assert len(bad.requests) + len(good.requests) == 1
            await proxy.settled()


async def test_a_plain_answer_that_breaks_is_cut_not_completed() -> None:
    async with (
        engines(1, behave=raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{half")) as (engine,),
        running(config_for([engine])) as proxy,
    ):
        with pytest.raises(aiohttp.ClientPayloadError):
            await proxy.chat()
        await proxy.settled()


async def test_a_kept_alive_connection_that_the_engine_closed_costs_no_error_and_no_blame() -> None:
    async def answer_and_close_later(
        engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        if len(engine.requests) % 2 == 0:
            writer.transport.abort()
        else:
            await answer_ok(engine, request, writer)

    async with (
        engines(1, behave=answer_and_close_later) as (engine,),
        running(config_for([engine])) as proxy,
    ):
        for _ in range(10):
            assert (await proxy.chat())[0] == 200

        assert (await proxy.status())["instances"][0]["breaker"] == "closed"


async def test_retries_of_a_failing_fleet_stay_within_the_budget() -> None:
    async with engines(3, behave=raw(plain(b"{}", status=503), close=False)) as trio:
        config = config_for(
            trio, breaker={"failures": 10_000}, retry={"attempts": 3, "budget_percent": 10}
        )
        async with running(config) as proxy:
            for _ in range(200):
                assert (await proxy.chat())[0] == 503

            upstream = sum(len(engine.requests) for engine in trio)
            assert upstream <= 200 * 1.1 + 10


async def test_a_busy_instance_is_not_taken_for_hung() -> None:
    """One stream waits long for its first byte while another of the same engine flows."""

    async def behave(
        engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        if b"slow" in request.body:
            await asyncio.sleep(1.0)
            await answer_ok(engine, request, writer)
            return
        writer.write(STREAM_HEAD)
        for _ in range(30):
            writer.write(chunk(event("x")))
            await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")

    async with engines(1, behave=behave) as (engine,):
        timeouts = {"first_byte_s": 0.3}
        async with running(config_for([engine], timeouts=timeouts)) as proxy:
            flowing = asyncio.ensure_future(proxy.chat("fast", stream=True))
            status, _ = await proxy.chat("slow", stream=True)
            await flowing

            assert status == 200
            assert len(engine.requests) == 2


@pytest.mark.parametrize("streams", [True, False])
async def test_total_time_bounds_every_request(*, streams: bool) -> None:
    async def drip(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        if streams:
            writer.write(STREAM_HEAD)
        while True:
            if streams:
                writer.write(chunk(event("x")))
            await asyncio.sleep(0.05)

    async with (
        engines(1, behave=drip) as (engine,),
        running(config_for([engine], timeouts=QUICK)) as proxy,
    ):
        if streams:
            with pytest.raises(aiohttp.ClientPayloadError):
                await proxy.chat(stream=True)
        else:
            assert (await proxy.chat())[0] == 504
        await proxy.settled()
        assert await engine.until_gone(1, within_s=1)


async def test_silence_within_a_stream_ends_it() -> None:
    async def stall(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(event("x")))
        await asyncio.sleep(30)

    async with (
        engines(1, behave=stall) as (engine,),
        running(config_for([engine], timeouts=QUICK)) as proxy,
    ):
        with pytest.raises(aiohttp.ClientPayloadError):
            await proxy.chat(stream=True)
        await proxy.settled()


async def _leave_after(proxy_url: str, delay_s: float, *, stream: bool) -> None:
    async with aiohttp.ClientSession() as client:
        body = {"model": "m", "messages": [], "stream": stream}
        with pytest.raises(asyncio.TimeoutError):
            async with asyncio.timeout(delay_s):
                async with client.post(proxy_url + "/v1/chat/completions", json=body) as response:
                    await response.read()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("phase", ["before the head", "within the stream"])
async def test_a_client_that_leaves_stops_the_engines_work(*, stream: bool, phase: str) -> None:
    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        if phase == "within the stream":
            writer.write(STREAM_HEAD + chunk(event("x")))
        await asyncio.sleep(30)

    async with engines(1, behave=behave) as (engine,), running(config_for([engine])) as proxy:
        await _leave_after(proxy.url, 0.2, stream=stream)

        assert await engine.until_gone(1, within_s=0.1)
        await proxy.settled()


async def test_a_fault_of_the_router_itself_is_answered_and_logged_not_hidden() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        failures: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: failures.append(context)
        )
        runtime = proxy.router.runtime
        rules = replace(runtime.active.rules, strategies={})
        runtime.active = replace(runtime.active, rules=rules)
        status, body = await proxy.chat()

        assert (status, json.loads(body)["error"]["type"]) == (500, "internal_error")
        assert [type(failure["exception"]) for failure in failures] == [KeyError]
        await proxy.settled()
