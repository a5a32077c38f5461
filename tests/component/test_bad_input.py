"""What is wrong with a request is said once, in the shape OpenAI clients read, and hurts nobody
else.
"""

import asyncio
import io
import json
from pathlib import Path

import pytest
from support.routing import CHAT, Running, config_for, running
from support.scripted import engines
from support.wire import dial


async def _exchange(proxy: Running, data: bytes) -> tuple[int, dict[str, object]]:
    """Sends raw bytes; gives status and error object of the first answer."""
    async with dial(proxy.port) as (reader, writer):
        writer.write(data)
        async with asyncio.timeout(10):
            answer = await reader.read()
    head, _, body = answer.partition(b"\r\n\r\n")
    error: dict[str, object] = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return int(head.split()[1]), error


def _post(body: bytes, *lines: bytes) -> bytes:
    extra = b"".join(line + b"\r\n" for line in lines)
    return b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s" % (
        CHAT.encode(),
        extra,
        len(body),
        body,
    )


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(_post(b"{not json"), 400, id="not JSON"),
        pytest.param(_post(b"[1,2]"), 400, id="not an object"),
        pytest.param(_post(b'{"model":"m","messages":"hi"}'), 400, id="wrong type"),
        pytest.param(_post(b'{"model":7,"messages":[]}'), 400, id="wrong model type"),
        pytest.param(
            _post(b'{"model":"m","messages":[' + b"[" * 100_000), 400, id="absurd nesting"
        ),
        pytest.param(
            _post(b'{"model":"m","messages":' + b"[" * 5_000 + b"]" * 5_000 + b"}"),
            400,
            id="deep but valid",
        ),
        pytest.param(
            _post(b'{"model":"m","messages":[{"content":"\xff\xfe"}]}'), 400, id="invalid UTF-8"
        ),
        pytest.param(_post(b'{"model":"absent","messages":[]}'), 404, id="unknown model"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            id="both lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            400,
            id="two lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, id="negative length"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
            id="bad chunk",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n", 400, id="bad header name"
        ),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01", 400, id="TLS on a plain port"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="HTTP/2 preface"),
        pytest.param(
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431, id="endless target"
        ),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"A: " + b"b" * 100_000, 431, id="endless header"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n",
            413,
            id="announced too large",
        ),
        pytest.param(
            b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\n\r\n", 400, id="CONNECT"
        ),
    ],
)
async def test_bad_input_gets_one_openai_shaped_error(request_bytes: bytes, status: int) -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        for _ in range(100):
            if proxy.router.runtime.catalog.models():
                break
            await asyncio.sleep(0.02)
        found, error = await _exchange(proxy, request_bytes)

        assert found == status
        assert error["message"]
        assert engine.requests == []
        assert (await proxy.chat())[0] == 200
        await proxy.settled()


async def test_a_body_over_the_cap_is_refused_while_it_arrives() -> None:
    limits = {"body_bytes": 10_000}
    async with engines(1) as (engine,), running(config_for([engine], limits=limits)) as proxy:
        status, error = await _exchange(
            proxy,
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"400\r\n" + b"x" * 1024 + b"\r\n" + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 200,
        )

        assert (status, error["code"]) == (413, "request_too_large")
        assert engine.requests == []


async def test_a_large_body_under_the_cap_goes_through() -> None:
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        body = b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 2**25 + b'"}]}'
        async with proxy.client.post(proxy.url + CHAT, data=io.BytesIO(body)) as response:
            assert response.status == 200

        assert len(engine.requests[0].body) > 32 * 1024 * 1024


async def test_a_smuggled_request_never_reaches_an_engine() -> None:
    """Transfer-Encoding tricks: whatever the router accepts, it sends on with a length of its
    own.
    """
    tricks = [
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"X: y\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
        b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
    ]
    inner = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    async with engines(1) as (engine,), running(config_for([engine])) as proxy:
        for trick in tricks:
            async with dial(proxy.port) as (_reader, writer):
                writer.write(
                    b"POST /outer HTTP/1.1\r\nHost: x\r\n"
                    + trick
                    + b"Content-Length: %d\r\n\r\n" % len(inner)
                    + inner
                )
                await asyncio.sleep(0.05)

        for request in engine.requests:
            assert request.target != "/smuggled"
            assert request.header("transfer-encoding") is None


async def test_a_wrong_api_key_is_refused_and_a_right_one_is_served(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# tenants\nright-key team-a\n")
    service = {"api_keys_file": str(keys)}
    async with engines(1) as (engine,), running(config_for([engine], service=service)) as proxy:
        for given, expected in (("Bearer wrong", 401), (None, 401), ("Bearer right-key", 200)):
            headers = {"Authorization": given} if given else {}
            async with proxy.client.get(proxy.url + "/version", headers=headers) as response:
                assert response.status == expected
                if expected == 401:
                    assert (await response.json())["error"]["code"] == "invalid_api_key"


async def test_a_client_that_sends_its_head_too_slowly_is_let_go() -> None:
    timeouts = {"client_head_s": 0.3}
    async with engines(1) as (engine,), running(config_for([engine], timeouts=timeouts)) as proxy:
        async with dial(proxy.port) as (reader, writer):
            for byte in b"GET / HTT":
                writer.write(bytes([byte]))
                await asyncio.sleep(0.1)
            async with asyncio.timeout(5):
                answer = await reader.read()

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert engine.requests == []


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    timeouts = {"client_idle_s": 0.3}
    async with engines(1) as (engine,), running(config_for([engine], timeouts=timeouts)) as proxy:
        async with dial(proxy.port) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(5):
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await reader.readexactly(1_000_000)
