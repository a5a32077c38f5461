"""The dummy engine on loopback."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from steelyard_bench.wire import reply
from steelyard_bench.wire.dummy import serving

HOST = "127.0.0.1"
CHAT = "/v1/chat/completions"


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(HOST, 0) as port:
        yield port


@pytest.fixture
async def http(port: int) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://{HOST}:{port}") as session:
        yield session


@pytest.mark.parametrize("path", [path.decode() for path in reply.PAGES])
async def test_it_answers_what_routers_ask(http: aiohttp.ClientSession, path: str) -> None:
    async with http.get(path) as answer:
        assert answer.status == 200


async def test_an_unknown_page_is_404(http: aiohttp.ClientSession) -> None:
    async with http.get("/nowhere") as answer:
        assert answer.status == 404


async def test_one_connection_serves_one_request_after_the_other(
    http: aiohttp.ClientSession,
) -> None:
    for tokens in (1, 5, 2):
        async with http.post(CHAT, json={"messages": [], "max_tokens": tokens}) as answer:
            assert (await answer.json())["usage"]["completion_tokens"] == tokens


async def test_a_body_that_comes_in_pieces_is_read_whole(port: int) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    body = b'{"messages": [], "max_tokens": 2}'
    writer.write(b"POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(body)))
    for byte in body:
        writer.write(bytes([byte]))
        await asyncio.sleep(0)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)

    assert head.startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()


async def test_a_paced_stream_comes_at_its_pace(http: aiohttp.ClientSession) -> None:
    fields = {"stream": True, "max_tokens": 5, **reply.pace_field(20.0)}
    began_s = time.monotonic()
    async with http.post(CHAT, json=fields) as answer:
        times = [
            time.monotonic() - began_s async for line in answer.content if b'"choices"' in line
        ]

    assert len(times) == 5
    assert all(at_s > 0.02 * (place + 1) - 0.005 for place, at_s in enumerate(times))


async def test_a_client_that_leaves_mid_stream_leaves_nothing_behind(
    http: aiohttp.ClientSession,
) -> None:
    fields = {"stream": True, "max_tokens": 1000, **reply.pace_field(5.0)}
    async with http.post(CHAT, json=fields) as answer:
        await answer.content.readline()
        answer.close()
    await asyncio.sleep(0.05)  # a timer that still ran would write to a closed transport and warn

    async with http.get("/health") as answer:
        assert answer.status == 200


@pytest.mark.parametrize("garbage", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00\x01\x02\r\n\r\n"])
async def test_what_is_not_http_1_ends_only_its_own_connection(
    port: int, http: aiohttp.ClientSession, garbage: bytes
) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(garbage)

    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    await writer.wait_closed()
    async with http.get("/health") as answer:
        assert answer.status == 200


async def test_a_body_that_is_no_json_is_400(http: aiohttp.ClientSession) -> None:
    async with http.post(CHAT, data=b"{") as answer:
        assert answer.status == 400


async def test_a_prompt_is_rendered_not_answered(http: aiohttp.ClientSession) -> None:
    async with http.post(f"{CHAT}/render", json={"messages": []}) as answer:
        assert "token_ids" in await answer.json()
