"""The simulated engine fails as it is told to, and ends as it should."""

import asyncio
import json
from dataclasses import replace

import aiohttp
import pytest
from support.engine_server import (
    CHAT,
    FAST,
    SLOW,
    WAIT_S,
    configure,
    engine,
    events,
    post,
    until_idle,
    until_running,
)

from steelyard_simulator.engine.profile import profile

# Faults.


async def test_an_error_rate_answers_500_before_the_first_byte() -> None:
    async with engine() as (_, client):
        await configure(client, error_rate=0.5, seed=1)
        statuses = [(await post(client, "/v1/chat/completions", CHAT))[0] for _ in range(20)]
        await configure(client, seed=1)
        again = [(await post(client, "/v1/chat/completions", CHAT))[0] for _ in range(20)]

    assert set(statuses) == {200, 500}
    assert statuses == again


async def test_a_hang_is_silent_but_healthy_and_ends_where_it_began() -> None:
    async with engine() as (server, client):
        body = {**CHAT, "stream": True, "max_tokens": 2000}
        async with client.post("/v1/chat/completions", json=body) as response:
            await response.content.readany()
            await configure(client, hang=True)
            fresh = asyncio.create_task(post(client, "/v1/chat/completions", CHAT))
            tokens = server.engine.counters.generated_tokens
            await asyncio.sleep(0.1)
            assert not fresh.done()
            server.backend.driver.refresh()
            assert server.engine.counters.generated_tokens == tokens
            async with client.get("/health") as health:
                assert health.status == 200
            await configure(client, hang=False)
            assert (await response.read()).endswith(b"data: [DONE]\n\n")
        assert (await fresh)[0] == 200


async def test_a_broken_connection_ends_a_stream_without_its_end() -> None:
    async with engine() as (server, client):
        await configure(client, abort_rate=1, abort_kind="connection")
        body = {**CHAT, "stream": True, "max_tokens": 50}
        async with client.post("/v1/chat/completions", json=body) as response:
            with pytest.raises(aiohttp.ClientError):
                await response.read()
        with pytest.raises(aiohttp.ClientError):
            await post(client, "/v1/chat/completions", CHAT)
        await until_idle(server)


async def test_an_error_event_ends_a_stream_under_status_200() -> None:
    async with engine() as (_, client):
        await configure(client, abort_rate=1, abort_kind="error_event")
        body = {**CHAT, "stream": True, "max_tokens": 50}
        *_, error, done = await events(client, "/v1/chat/completions", body)
        status, _ = await post(client, "/v1/chat/completions", CHAT)

    assert json.loads(error)["error"]["code"] == 500
    assert done == "[DONE]"
    assert status == 500


@pytest.mark.parametrize("stream", [False, True])
async def test_an_abort_reason_ends_a_cut_answer(*, stream: bool) -> None:
    async with engine() as (_, client):
        await configure(client, abort_rate=1, abort_kind="finish_reason")
        body = {**CHAT, "stream": stream, "max_tokens": 50}
        if stream:
            *_, last, done = await events(client, "/v1/chat/completions", body)
            assert done == "[DONE]"
            choice = json.loads(last)["choices"][0]
        else:
            _, answer = await post(client, "/v1/chat/completions", body)
            assert answer["usage"]["completion_tokens"] < 50
            choice = answer["choices"][0]

    assert choice["finish_reason"] == "abort"


async def test_a_refusing_server_closes_connections_without_a_word() -> None:
    async with engine() as (_, client):
        await configure(client, refuse=True)
        with pytest.raises(aiohttp.ClientError):
            await client.get("/health")
        await configure(client, refuse=False)
        async with client.get("/health") as response:
            assert response.status == 200


async def test_a_slow_head_and_a_latency_factor_take_their_time() -> None:
    async with engine() as (_, client):
        loop = asyncio.get_running_loop()

        async def took() -> float:
            begun = loop.time()
            await post(client, "/v1/chat/completions", {**CHAT, "max_tokens": 10})
            return loop.time() - begun

        await configure(client, slow_head_s=40)
        assert await took() >= 0.2
        await configure(client, slow_head_s=0, latency_factor=1000)
        assert await took() >= 10 * 0.007 * 1000 / 200
        await configure(client, latency_factor=1)
        assert await took() < 10 * 0.007 * 1000 / 200


async def test_a_reset_cache_makes_prompts_cold_again() -> None:
    async with engine() as (_, client):
        cached = []
        for reset in (False, False, True):
            if reset:
                await configure(client, reset_cache=True)
            _, answer = await post(client, "/v1/chat/completions", {**CHAT, "max_tokens": 1})
            cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"] > 0)

    assert cached == [False, True, False]


async def test_a_queue_with_an_end_answers_503() -> None:
    small = replace(FAST, speed=1.0, profile=replace(profile("h100-8b"), max_num_seqs=1))
    async with engine(small) as (server, client):
        await configure(client, max_waiting=1)
        body = {**CHAT, "max_tokens": 50_000}
        held = [asyncio.create_task(post(client, "/v1/chat/completions", body)) for _ in range(2)]
        async with asyncio.timeout(WAIT_S):
            while (server.engine.running, server.engine.waiting) != (1, 1):
                await asyncio.sleep(0.005)
        status, answer = await post(client, "/v1/chat/completions", body)
        for one in held:
            one.cancel()
        await asyncio.wait(held, timeout=WAIT_S)

    assert status == 503
    assert answer["error"]["type"] == "Service Unavailable"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"[1]", "object"),
        (b'{"error_rate": 2}', "error_rate"),
        (b'{"latency_factor": 0}', "latency_factor"),
        (b'{"abort_kind": "explode"}', "abort_kind"),
        (b'{"typo": 1}', "typo"),
        (b'{"reset_cache": "yes"}', "reset_cache"),
    ],
)
async def test_a_bad_configuration_is_refused_whole(body: bytes, says: str) -> None:
    async with engine() as (_, client):
        async with client.get("/admin/config") as response:
            before = await response.json()
        async with client.post("/admin/config", data=body) as response:
            assert response.status == 400
            assert says in (await response.json())["error"]["message"]
        async with client.get("/admin/config") as response:
            assert await response.json() == before


# The end.


async def test_a_drain_finishes_what_runs_and_takes_nothing_new() -> None:
    async with engine(SLOW) as (server, client):
        body = {**CHAT, "stream": True, "max_tokens": 60}
        running = asyncio.create_task(events(client, "/v1/chat/completions", body))
        async with client.get("/health") as response:
            assert response.status == 200
        await until_running(server, 1)
        await server.drain()

        assert (await running)[-1] == "[DONE]"
        with pytest.raises(aiohttp.ClientError):
            await client.get("/health")


async def test_an_abrupt_server_breaks_its_streams_off() -> None:
    async with engine(replace(SLOW, abrupt=True)) as (server, client):
        body = {**CHAT, "stream": True, "max_tokens": 5000}
        running = asyncio.create_task(events(client, "/v1/chat/completions", body))
        await until_running(server, 1)
        await server.drain()

        with pytest.raises(aiohttp.ClientError):
            await running
        await until_idle(server)


async def test_an_idle_server_sets_no_timer() -> None:
    async with engine() as (server, client):
        await post(client, "/v1/chat/completions", CHAT)
        await until_idle(server)

        assert server.engine.next_step_s is None
        assert server.backend.driver._timer is None
