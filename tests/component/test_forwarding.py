"""What crosses the router does so unchanged: bodies, headers, statuses, streams."""

import asyncio
import json

import pytest
from support.routing import CHAT, config_for, running
from support.scripted import Received, ScriptedEngine, answer_ok, chunk, engines, plain
from support.wire import dial


async def test_the_body_goes_upstream_byte_for_byte_with_every_end_to_end_header() -> None:
    odd = b'{ "model":"m" ,\t"messages":[{"role":"user","content":"a\\u00e9b"}], "x_vendor":1e2 }\n'
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        headers = {
            "Content-Type": "application/json",
            "X-Custom": "kept",
            "traceparent": "00-ab-cd-01",
            "Connection": "x-hop, keep-alive",
            "X-Hop": "dropped",
            "Authorization": "Bearer engine-key",
        }
        async with proxy.client.post(proxy.url + CHAT, data=odd, headers=headers) as response:
            assert response.status == 200

        (seen,) = engine.requests
        assert seen.body == odd
        assert seen.header("x-custom") == "kept"
        assert seen.header("traceparent") == "00-ab-cd-01"
        assert seen.header("authorization") == "Bearer engine-key"
        assert seen.header("x-hop") is None
        assert seen.header("host") == f"127.0.0.1:{engine.port}"


async def test_a_stream_arrives_as_the_engine_sent_it() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        status, body = await proxy.chat(stream=True)

        assert status == 200
        assert body.count(b"data: ") == 5
        assert body.endswith(b"data: [DONE]\n\n")
        await proxy.settled()


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/version"),
        ("POST", "/v1/audio/speech?x=1&y=%20"),
        ("DELETE", "/v1/files/7"),
        ("PUT", "/a"),
    ],
)
async def test_an_unknown_endpoint_passes_through(method: str, target: str) -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        async with proxy.client.request(
            method, proxy.url + target, data=b"\x00not json"
        ) as response:
            assert response.status == 200

        (seen,) = engine.requests
        assert (seen.method, seen.target, seen.body) == (method, target, b"\x00not json")


async def test_a_request_id_is_kept_or_made_and_shown_on_both_sides() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        for given in ("abc-123", None):
            headers = {"x-request-id": given} if given else {}
            async with proxy.client.get(proxy.url + "/version", headers=headers) as response:
                shown = response.headers["x-request-id"]
                assert response.headers["x-steelyard-instance"] == "e0"
            assert engine.requests[-1].header("x-request-id") == shown
            assert given in (None, shown)


async def test_models_of_all_endpoints_are_merged() -> None:
    async with engines(2) as pair:
        pair[0].models, pair[1].models = ("m", "small"), ("m", "large")
        async with running(config_for(pair)) as proxy:
            ids: list[str] = []
            for _ in range(100):
                async with proxy.client.get(proxy.url + "/v1/models") as response:
                    ids = [card["id"] for card in (await response.json())["data"]]
                if len(ids) == 3:
                    break
                await asyncio.sleep(0.02)

            assert sorted(ids) == ["large", "m", "small"]


async def test_a_head_request_gets_the_length_and_no_body() -> None:
    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nX-A: b\r\n\r\n")

    async with engines(1, behave=behave) as (engine,), running(config_for([engine])) as proxy:
        for _ in range(3):
            async with proxy.client.head(proxy.url + "/file") as response:
                assert response.headers["content-length"] == "1234"
                assert response.headers["x-a"] == "b"
        await proxy.settled()


async def test_a_body_that_ends_with_the_connection_is_framed_anew() -> None:
    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it")
        writer.close()

    async with engines(1, behave=behave) as (engine,), running(config_for([engine])) as proxy:
        async with proxy.client.get(proxy.url + "/old") as response:
            assert await response.read() == b"all of it"
        await proxy.settled()


async def test_an_informational_response_is_not_the_answer() -> None:
    async def behave(
        engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        await answer_ok(engine, request, writer)

    async with engines(1, behave=behave) as (engine,), running(config_for([engine])) as proxy:
        status, body = await proxy.chat()

        assert (status, json.loads(body)["engine"]) == (200, "e0")


async def test_a_4xx_of_the_engine_is_passed_on_and_says_nothing_against_it() -> None:
    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(plain(b'{"error":{"message":"too long"}}', status=400))

    async with engines(1, behave=behave) as (engine,), running(config_for([engine])) as proxy:
        for _ in range(20):
            assert (await proxy.chat())[0] == 400

        assert (await proxy.status())["instances"][0]["breaker"] == "closed"


async def test_an_http_1_0_client_gets_an_unchunked_answer() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        async with dial(proxy.port) as (reader, writer):
            body = b'{"model":"m","stream":true,"messages":[]}'
            writer.write(
                b"POST %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s"
                % (CHAT.encode(), len(body), body)
            )
            answer = await reader.read()

        assert b"transfer-encoding" not in answer.lower()
        assert answer.endswith(b"data: [DONE]\n\n")


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        async with dial(proxy.port) as (reader, writer):
            writer.write(b"".join(b"GET /n%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(20)))
            seen = b""
            while seen.count(b"HTTP/1.1 200") < 20:
                seen += await reader.read(65536)

        assert [request.target for request in engine.requests] == [f"/n{n}" for n in range(20)]


async def test_a_chunked_request_body_arrives_whole() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        async with dial(proxy.port) as (reader, writer):
            writer.write(b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            for part in (b"one", b"two", b"three"):
                writer.write(chunk(part))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")

        assert engine.requests[0].body == b"onetwothree"
        assert engine.requests[0].header("content-length") == "11"


async def test_a_wish_for_another_protocol_is_served_as_http_1_1() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        async with dial(proxy.port) as (reader, writer):
            writer.write(
                b"POST /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                b"Upgrade: h2c\r\nHTTP2-Settings: AAM\r\nContent-Length: 4\r\n\r\nbo"
            )
            await asyncio.sleep(0.02)
            writer.write(b"dyGET /y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await reader.read()

        assert answer.count(b"HTTP/1.1 200 ") == 2
        assert engine.requests[0].body == b"body"
        assert engine.requests[0].header("upgrade") is None
