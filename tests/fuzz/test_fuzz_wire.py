"""Fuzz of both sides of the byte path, in process: no crash, no hang, no smuggled message.

`make fuzz` runs a million cases; STEELYARD_FUZZ_CASES sets another number. A failure names its
seed. The oracle is h11, an HTTP implementation that shares no code with ours: whatever we accept
must read to it as exactly one request on the engine's side, and what clients get as well-formed
responses or as a cut.
"""

import asyncio
import os
import random
import re
from collections.abc import Awaitable, Callable
from typing import cast

import h11
import pytest
from fuzz import grammar

from steelyard_router.config import Limits, Timeouts
from steelyard_router.proxy.attempt import Attempt, Cause
from steelyard_router.proxy.downstream import ClientConnection
from steelyard_router.proxy.message import RequestHead, json_bytes
from steelyard_router.proxy.roster import Member
from steelyard_router.proxy.upstream import UpstreamConnection
from steelyard_router.scheduling.lease import Lease

CASES = int(os.environ.get("STEELYARD_FUZZ_CASES", "30000"))


Case = Callable[[random.Random, asyncio.AbstractEventLoop], Awaitable[int]]


class FakeTransport(asyncio.Transport):
    """Keeps what is written; tells its protocol of a close in the next turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop, self._protocol = loop, protocol
        self.written = bytearray()
        self.closed = False
        self.aborted = False
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed, "written after the end"
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.aborted = True
        self.close()


class RecordingFront:
    """Answers every request and keeps what it was."""

    def __init__(self) -> None:
        self.limits = Limits(body_bytes=100_000, head_bytes=8_000)
        self.timeouts = Timeouts()
        self.draining = False
        self.served: list[tuple[RequestHead, bytes]] = []

    def time(self) -> float:
        return 0.0

    def opened(self, connection: ClientConnection) -> None: ...
    def closed(self, connection: ClientConnection) -> None: ...

    async def serve(self, connection: ClientConnection, head: RequestHead, body: bytes) -> None:
        self.served.append((head, body))
        connection.answer(json_bytes(b"{}", close=not connection.keep_alive))


async def _settle(turns: int = 3) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


def _as_one_request(head: RequestHead, body: bytes) -> None:
    """What goes upstream is one request with that body, to a parser of another make."""
    engine = h11.Connection(h11.SERVER)
    engine.receive_data(head.upstream_bytes(b"e:1", len(body), b"id") + body)
    event = engine.next_event()
    assert isinstance(event, h11.Request), event
    assert sum(name == b"content-length" for name, _ in event.headers) <= 1
    assert all(name != b"transfer-encoding" for name, _ in event.headers)
    got = b""
    while isinstance(event := engine.next_event(), h11.Data):
        got += event.data
    assert isinstance(event, h11.EndOfMessage), event
    assert got == body
    assert engine.trailing_data[0] == b"", "bytes are left over behind the request"


async def _client_case(rng: random.Random, loop: asyncio.AbstractEventLoop) -> int:
    front = RecordingFront()
    connection = ClientConnection(front, loop)
    transport = FakeTransport(loop, connection)
    data = b"".join(grammar.request(rng) for _ in range(rng.choice([1, 1, 1, 2, 3])))
    if rng.random() < 0.5:
        data = grammar.damaged(rng, data)
    for piece in grammar.pieces(rng, data):
        if not transport.closed:
            connection.data_received(piece)
        if rng.random() < 0.3:
            await _settle()
    await _settle(4 * len(front.served) + 8)
    for head, body in front.served:
        _as_one_request(head, body)
    answers = bytes(transport.written).replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
    assert len(re.findall(rb"HTTP/1\.1 \d{3} ", answers)) <= len(front.served) + 1
    assert b"/smuggled" not in answers
    transport.close()
    await _settle()
    return len(front.served)


@pytest.mark.timeout(3600)
async def test_no_bytes_of_a_client_crash_the_router_or_smuggle_a_request() -> None:
    accepted = await _run(_client_case)

    assert accepted > CASES * 0.2, "the grammar must be right often enough to reach the deep parts"


class FakeContext:
    """The request around an attempt."""

    def __init__(self, client: ClientConnection, method: bytes, *, http11: bool) -> None:
        self.client = client
        self.timeouts = Timeouts()
        self.method = method
        self.http11 = http11
        self.streams = True

    def time(self) -> float:
        return 0.0

    def added_headers(self, member: Member) -> bytes:
        del member
        return b"X-Request-Id: id\r\n"

    def may_retry(self, cause: Cause) -> bool:
        del cause
        return False

    def prefilled(self) -> None: ...


class FakeLease:
    def first_byte(self, now: float) -> None: ...
    def progress(self, output_tokens: int) -> None: ...


class FakeMember:
    last_byte_at = 0.0
    healthy = True


def _reads_as_response(written: bytes, method: bytes, *, cut: bool) -> None:
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(written)
    event = client.next_event()
    assert isinstance(event, h11.Response), event
    while isinstance(event := client.next_event(), h11.Data):
        pass
    if event is h11.NEED_DATA:
        assert cut, "a response that does not end must be cut by a close"
    else:
        assert isinstance(event, h11.EndOfMessage), event
        assert client.trailing_data[0] == b""


async def _engine_case(rng: random.Random, loop: asyncio.AbstractEventLoop) -> int:
    front = RecordingFront()
    client = ClientConnection(front, loop)
    client_side = FakeTransport(loop, client)
    method = rng.choice([b"GET", b"POST", b"POST", b"HEAD"])
    context = FakeContext(client, method, http11=True)
    upstream = UpstreamConnection()
    engine_side = FakeTransport(loop, upstream)
    attempt = Attempt(
        context, member=cast("Member", FakeMember()), lease=cast("Lease", FakeLease()), now=0.0
    )
    done = attempt.send(upstream, b"", b"", 0.0)
    data = grammar.response(rng) + (grammar.response(rng) if rng.random() < 0.1 else b"")
    if rng.random() < 0.5:
        data = grammar.damaged(rng, data)
    for piece in grammar.pieces(rng, data):
        if not engine_side.closed:
            upstream.data_received(piece)
    engine_side.close()
    await _settle()

    assert done.done(), "an attempt must end when its connection does"
    ending = done.result()
    assert ending.started == attempt.begun
    if attempt.begun:
        _reads_as_response(
            bytes(client_side.written), method, cut=ending.cause is not Cause.DELIVERED
        )
    else:
        assert client_side.written == b""
    if attempt.scan is not None:
        attempt.scan.finish()
    client_side.close()
    await _settle()
    return int(ending.cause is Cause.DELIVERED)


@pytest.mark.timeout(3600)
async def test_no_bytes_of_an_engine_crash_the_router_or_garble_an_answer() -> None:
    delivered = await _run(_engine_case)

    assert delivered > CASES * 0.1, "as above"


async def _run(case: Case) -> int:
    loop = asyncio.get_running_loop()
    first = int(os.environ.get("STEELYARD_FUZZ_SEED", "0"))
    total = 0
    for seed in range(first, first + CASES):
        try:
            total += await case(random.Random(seed), loop)
        except BaseException as error:
            error.add_note(f"STEELYARD_FUZZ_SEED={seed} STEELYARD_FUZZ_CASES=1 reproduces this")
            raise
    return total
