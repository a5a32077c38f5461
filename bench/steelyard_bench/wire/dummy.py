"""A dummy engine: answers at once with made-up tokens, so that the router in front is measured.

`python -m steelyard_bench.wire.dummy --port P` runs one. It costs about 12 us of CPU a request. Any
POST is answered as a chat completion, but for those that ask for a prompt's tokens. What is not
HTTP/1.1, such as the HTTP/2 preface with which some routers probe, ends its connection and nothing
else.
"""

import asyncio
import contextlib
import gc
import signal
from collections.abc import AsyncIterator
from typing import cast

import click
import httptools
import uvloop

from steelyard_bench.wire import reply
from steelyard_bench.wire.reply import Wish

NOT_FOUND = reply.whole(b'{"detail": "Not Found"}', status=b"404 Not Found")
BAD_REQUEST = reply.whole(b'{"detail": "send a JSON object"}', status=b"400 Bad Request")
PAGES = {path: reply.whole(page) for path, page in reply.PAGES.items()}


class PacedStream:
    """One stream of a token every `pace_s`, on a fixed schedule so that delays do not add up."""

    def __init__(
        self, transport: asyncio.Transport, wish: Wish, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._transport = transport
        self._wish = wish
        self._loop = loop
        self._sent = 0
        self._began_s = loop.time()
        transport.write(reply.STREAM_HEAD)
        self._timer = self._next()

    def _next(self) -> asyncio.TimerHandle:
        due_s = self._began_s + (self._sent + 1) * self._wish.pace_s
        return self._loop.call_at(due_s, self._send)

    def _send(self) -> None:
        wish = self._wish
        self._sent += 1
        if self._sent < wish.tokens:
            self._transport.write(reply.token())
            self._timer = self._next()
            return
        end = reply.stream_end(wish.prompt_tokens, wish.tokens, usage=wish.usage)
        self._transport.write(reply.token(last=True) + end)

    def cancel(self) -> None:
        self._timer.cancel()


class DummyEngine(asyncio.Protocol):
    """One connection; its client sends the next request after the answer to the last."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._body = b""
        self._stream: PacedStream | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._stream is not None:
            self._stream.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        path, body = self._path, self._body
        self._path = self._body = b""
        if path.endswith(b"/render"):
            self._transport.write(reply.rendered(body))
        elif self._parser.get_method() == b"POST":
            self._generate(body)
        else:
            self._transport.write(PAGES.get(path.partition(b"?")[0], NOT_FOUND))
        if not self._parser.should_keep_alive():
            self._transport.close()

    def _generate(self, body: bytes) -> None:
        wish = reply.wish(body)
        write = self._transport.write
        if wish is None:
            write(BAD_REQUEST)
        elif not wish.streams:
            write(reply.completion(wish.prompt_tokens, wish.tokens))
        elif wish.pace_s:
            self._stream = PacedStream(self._transport, wish, self._loop)
        else:
            write(reply.stream(wish.prompt_tokens, wish.tokens, usage=wish.usage))


@contextlib.asynccontextmanager
async def serving(host: str, port: int) -> AsyncIterator[int]:
    """A dummy engine in this event loop; gives its port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: DummyEngine(loop), host, port, backlog=1024)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _run(host: str, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(host, port):
        gc.freeze()
        await stop.wait()


@click.command()
@click.option("--host", default="127.0.0.1")
@click.option("--port", type=click.IntRange(1, 65535), required=True)
def main(host: str, port: int) -> None:
    """Run one dummy engine until SIGTERM."""
    uvloop.run(_run(host, port))


if __name__ == "__main__":
    main()
