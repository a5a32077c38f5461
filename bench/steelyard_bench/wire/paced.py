"""Load of streams that come at a pace, as from engines that really generate.

What matters here is not how fast but how late: each chunk's arrival is held against the schedule of
its stream, so the engine's own pace drops out and what a router adds is left.
"""

import asyncio
import contextlib
import itertools
import random
import time
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import httptools

from steelyard_bench.wire.cell import SEED, Cell
from steelyard_bench.wire.load import Load, quantile
from steelyard_bench.wire.meter import Meter

SETTLE_S = 1.0
CONNECT_S = 5.0
SEPARATOR = b"\n\n"


@dataclass(slots=True)
class Tally:
    """Counts of the window; nothing counts before it opens."""

    open: bool = False
    requests: int = 0
    errors: int = 0
    late_s: list[float] = field(default_factory=list)
    """One entry a chunk."""


class Stream(asyncio.Protocol):
    """One connection that asks again and again, each time when the last stream has ended."""

    def __init__(
        self,
        requests: "itertools.cycle[tuple[bytes, int]]",
        tally: Tally,
        pace_s: float,
    ) -> None:
        self._requests = requests
        self._tally = tally
        self._pace_s = pace_s
        self._ended = False
        self._carry = b""
        self._events = self._chunks = self._tokens = 0
        self._asked_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if not self._ended:
            self._count_error()

    def close(self) -> None:
        self._ended = True
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail()

    def on_body(self, body: bytes) -> None:
        data = self._carry + body
        events = data.count(SEPARATOR)
        self._carry = data[-1:] if not data.endswith(SEPARATOR) else b""
        chunks = min(events, self._tokens - self._chunks)  # what follows them is [DONE]
        self._events += events
        now = time.monotonic()  # the loop's own clock has steps of 1 ms
        for _ in range(chunks):
            self._chunks += 1
            if self._tally.open:
                self._tally.late_s.append(now - self._asked_s - self._chunks * self._pace_s)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() != 200 or self._events != self._tokens + 1:
            self._fail()
            return
        if self._tally.open:
            self._tally.requests += 1
        self._ask()

    def _ask(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._carry = b""
        self._events = self._chunks = 0
        request, self._tokens = next(self._requests)
        self._asked_s = time.monotonic()
        self._transport.write(request)

    def _fail(self) -> None:
        self._count_error()
        self.close()

    def _count_error(self) -> None:
        self._ended = True
        self._tally.errors += 1


async def drive(
    cell: Cell, url: str, seconds: float, meter: Meter, *, settle_s: float = SETTLE_S
) -> Load:
    """Keeps `cell.connections` streams going and measures `seconds` of it. They begin one after the
    other within about `settle_s`, and all run when the window opens.
    """
    loop = asyncio.get_running_loop()
    parts, pace_s = urlsplit(url), cell.pace_ms / 1000
    host, port = parts.hostname or "", parts.port or 80
    tally = Tally()
    requests = itertools.cycle(_requests(cell, parts.netloc, parts.path))
    rng = random.Random(SEED)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(cell.connections):
            async with asyncio.timeout(CONNECT_S):
                _, stream = await loop.create_connection(
                    lambda: Stream(requests, tally, pace_s), host, port
                )
            stack.callback(stream.close)
            await asyncio.sleep(rng.uniform(0, 2 * settle_s / cell.connections))
        return await _measure(tally, seconds, meter)


async def _measure(tally: Tally, seconds: float, meter: Meter) -> Load:
    tally.open, began_s = True, time.monotonic()
    meter.start()
    await asyncio.sleep(seconds)
    meter.stop()
    tally.open, took_s = False, time.monotonic() - began_s
    late_s = sorted(tally.late_s)
    return Load(
        seconds=took_s,
        requests=tally.requests,
        chunks=len(late_s),
        p50_ms=quantile(late_s, 0.5) * 1000,
        p99_ms=quantile(late_s, 0.99) * 1000,
        errors=tally.errors,
    )


def _requests(cell: Cell, authority: str, path: str) -> list[tuple[bytes, int]]:
    """Whole requests as bytes, and the tokens that each asks for."""
    head = f"POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n"
    return [
        (
            f"{head}Content-Length: {len(request.body)}\r\n\r\n".encode() + request.body,
            request.tokens,
        )
        for request in cell.requests()
    ]
