"""A connection to an engine: sends one request at a time and gives its response to a sink, as it
comes.

Body bytes are handed on in the pieces the socket delivered, framing removed, one call per read.
Keeps true: a sink hears `on_head`, then `on_body` any number of times, then exactly one of `on_end`
and `on_broken`; after `detach` it hears nothing. A connection is reusable only after a complete,
clean keep-alive exchange.
"""

import asyncio
from typing import Protocol, cast

import httptools

from steelyard_router.proxy.message import Header, ResponseHead

MAX_HEAD_BYTES = 256 * 1024
BODILESS = frozenset({204, 304})


class Sink(Protocol):
    """Receives one response."""

    def on_head(self, head: ResponseHead) -> None: ...
    def on_body(self, data: bytes) -> None: ...
    def on_end(self) -> None: ...
    def on_broken(self, reason: str) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """One keep-alive connection."""

    _head: ResponseHead | None
    _fresh_head: ResponseHead | None
    """The head until the sink has heard of it."""
    _headers: list[Header]
    _parts: list[bytes]
    _complete: bool

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._method = b""
        self._lost = False
        self.exchanges = 0
        """Requests sent so far; over 1, the connection was reused and may have been closed
        meanwhile.
        """
        self.on_idle_lost: IdleLost | None = None
        # one parser for all responses: whatever upsets it closes the connection
        self._parser = httptools.HttpResponseParser(self)
        self._reset()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @property
    def usable(self) -> bool:
        return not self._lost and not self._transport.is_closing()

    def send(self, head: bytes, body: bytes, method: bytes, sink: Sink) -> None:
        """Sends a request; its response goes to `sink`."""
        self._reset()
        self._sink = sink
        self._method = method
        self.exchanges += 1
        if len(body) <= 65536:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)

    def detach(self) -> None:
        """Gives the response up: the sink hears no more and the engine sees the connection
        close.
        """
        self._sink = None
        self._transport.abort()

    def pause(self, paused: bool) -> None:  # noqa: FBT001 -- a callback's only argument
        if self._lost:
            return
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # -- transport events ----------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._sink is None:
            self._transport.abort()  # an answer that nobody asked for
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._broken(f"it does not speak HTTP/1.1 ({type(error).__name__})")
            return
        if self._head is None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._fault = "its response head is too large"
        if self._fault:
            self._broken(self._fault)
            return
        if self._fresh_head is not None:
            head, self._fresh_head = self._fresh_head, None
            self._sink.on_head(head)
        if self._parts and self._sink is not None:
            parts, self._parts = self._parts, []
            self._sink.on_body(parts[0] if len(parts) == 1 else b"".join(parts))
        if self._complete and self._sink is not None:
            self._end(reusable=self._reusable and not self._surplus)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._sink is None:
            if self.on_idle_lost is not None:
                self.on_idle_lost(self)
        elif self._head is not None and not self._framed:
            self._end(reusable=False)  # a body without a length ends with the connection
        else:
            self._broken("it closed the connection" if exc is None else f"connection lost: {exc}")

    # -- parser events -------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._surplus = self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is None:
            self._headers.append((name, name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._surplus:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            self._headers = []
            return
        if not 200 <= status < 1000:
            self._fault = f"its status is {status}"
            return
        head = ResponseHead(status, self._headers)
        self._framed = b"content-length" in head.noted or b"transfer-encoding" in head.noted
        self._head = head
        self._fresh_head = head
        # a HEAD answer's parser still waits for the body its length announces
        self._reusable = self._method != b"HEAD" and self._parser.should_keep_alive()
        if self._method == b"HEAD" or status in BODILESS:
            self._complete = True

    def on_body(self, body: bytes) -> None:
        if self._head is None:
            self._fault = "an informational response of its has a body"
        elif self._complete:  # a body where there can be none: to HEAD, or behind the end
            self._surplus = True
        else:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._head is not None:
            self._complete = True

    # -- delivery ------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._headers = []
        self._head = None
        self._head_bytes = 0
        self._fault = ""
        self._fresh_head = None
        self._framed = True
        self._reusable = False
        self._surplus = False
        """Whether bytes came after the end of the response: somebody is out of step."""
        self._parts = []
        self._complete = False

    def _end(self, *, reusable: bool) -> None:
        sink, self._sink = self._sink, None
        if not reusable and not self._lost:
            self._transport.close()
        assert sink is not None
        sink.on_end()

    def _broken(self, reason: str) -> None:
        sink, self._sink = self._sink, None
        self._transport.abort()
        if sink is not None:
            sink.on_broken(reason)


class IdleLost(Protocol):
    """Told when a connection that waits in the pool is closed by the engine."""

    def __call__(self, connection: UpstreamConnection) -> None: ...
