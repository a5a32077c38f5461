"""The client of paced streams."""

import asyncio
from dataclasses import replace
from typing import cast

from steelyard_bench.wire import paced, reply
from steelyard_bench.wire.cell import CELLS
from steelyard_bench.wire.dummy import serving
from steelyard_bench.wire.meter import Meter

HOST = "127.0.0.1"
CELL = replace(CELLS[4], connections=8, tokens=(2, 5), pace_ms=10.0)


async def test_it_counts_chunks_and_how_late_they_come() -> None:
    async with serving(HOST, 0) as port:
        load = await paced.drive(
            CELL, f"http://{HOST}:{port}/v1/chat", 0.5, Meter(None), settle_s=0.1
        )

    assert load.errors == 0
    assert load.seconds > 0.45
    assert 50 < load.chunks <= 8 * 55
    assert 8 <= load.requests < load.chunks
    assert -1 < load.p50_ms <= load.p99_ms


class _Cutting(asyncio.Protocol):
    """Answers with one token less than was asked for, in proper form."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        wish = reply.wish(data.partition(b"\r\n\r\n")[2])
        assert wish is not None
        self.transport.write(reply.stream(1, wish.tokens - 1, usage=False))


async def test_a_stream_that_lacks_a_token_is_an_error() -> None:
    server = await asyncio.get_running_loop().create_server(_Cutting, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    load = await paced.drive(CELL, f"http://{HOST}:{port}/v1/chat", 0.1, Meter(None), settle_s=0.1)
    server.close()

    assert load.errors == CELL.connections
    assert load.requests == 0


class _Refusing(asyncio.Protocol):
    """Answers 503."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(reply.whole(b"{}", status=b"503 Service Unavailable"))


async def test_another_status_is_an_error() -> None:
    server = await asyncio.get_running_loop().create_server(_Refusing, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    load = await paced.drive(CELL, f"http://{HOST}:{port}/v1/chat", 0.1, Meter(None), settle_s=0.1)
    server.close()

    assert load.errors == CELL.connections
