"""A client's connection: reads requests, hands each to the front, writes what the front answers.

One request is served at a time; pipelined ones wait in order and reading pauses meanwhile. Requests
are taken whole, up to limits.body_bytes, because routing reads the prompt and a retry needs the
bytes again. Keeps true: a message that the parser refuses, that is too large or too slow gets one
OpenAI-shaped error and a close; a client that goes away cancels its request at once; nothing is
written after the end.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Protocol, cast

import httptools

from steelyard_router.config import Limits, Timeouts
from steelyard_router.errors import (
    BadRequest,
    BodyTooLarge,
    ClientError,
    HeadTooLarge,
    RequestTooSlow,
)
from steelyard_router.proxy.flow import WriteFlow
from steelyard_router.proxy.message import RequestHead, error_bytes

INTERNAL = ClientError("the router failed on this request; its log says more. Try again")
LINGER_S = 2.0
"""How long bytes of a refused request are read and dropped, so that the answer is not lost to a
reset.
"""


class Front(Protocol):
    """What a connection needs of the server around it."""

    draining: bool

    @property
    def limits(self) -> Limits: ...
    @property
    def timeouts(self) -> Timeouts: ...
    def time(self) -> float: ...
    def opened(self, connection: "ClientConnection") -> None: ...
    def closed(self, connection: "ClientConnection") -> None: ...
    def serve(
        self, connection: "ClientConnection", head: RequestHead, body: bytes
    ) -> Coroutine[None, None, None]: ...


class ClientConnection(asyncio.Protocol):
    """One accepted connection."""

    _body: bytes | bytearray
    _began_s: float | None
    """When the first byte of the message that is being read came; None between messages."""

    def __init__(self, front: Front, loop: asyncio.AbstractEventLoop) -> None:
        self._front = front
        # as they are now: a reload holds for connections that are opened after it
        self._limits, self._timeouts = front.limits, front.timeouts
        self._loop = loop
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[RequestHead, bytes]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._fault: ClientError | None = None
        self._lingering = False
        self._reading_paused = False
        self._lost = False
        self._reset_message()
        self._keep_alive = True
        self._chunked = False
        self._pending_head = b""
        self.started = False
        """Whether any byte of the current response has been handed to the transport."""
        self.flow = WriteFlow()
        self.deadline_s: float | None = None

    # -- transport events ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._front.opened(self)
        self.deadline_s = self._front.time() + self._timeouts.client_head_s

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._lost = True
        self._waiting.clear()
        self._front.closed(self)
        if self._task is not None:
            self._task.cancel()

    def eof_received(self) -> bool:
        return (
            False  # a client that closes its half has left: ours closes, the request is cancelled
        )

    def pause_writing(self) -> None:
        self.flow.pause(self._front.time())

    def resume_writing(self) -> None:
        self.flow.resume()

    def data_received(self, data: bytes) -> None:
        if self._lingering or self._fault is not None:
            return
        self._raw_bytes += len(data)
        now = self._front.time()
        if self._began_s is None:
            self._began_s = now
        self._parse(data)
        self._check_size()
        if self._fault is not None:
            self._refuse_when_idle()
        elif self._task is None and self._began_s is not None:
            timeouts = self._timeouts
            pause_end_s = now + timeouts.client_head_s
            if not self._head_done:
                pause_end_s = self._began_s + timeouts.client_head_s
            self.deadline_s = min(pause_end_s, self._began_s + timeouts.total_s)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # A wish for another protocol is served as HTTP/1.1 (RFC 9110 7.8). The parser has let
            # go after the head: a fresh one gets the head without the wish, then the rest.
            rest = data[upgrade.args[0] :]
            head = self._head.without_upgrade()
            self._reset_message()
            self._began_s = self._front.time()
            self._parser = httptools.HttpRequestParser(self)
            self._parse(head + rest)
        except httptools.HttpParserError as error:
            self._fault = self._fault or BadRequest(
                f"the request is not valid HTTP/1.1 ({error}); send it again, well-formed"
            )

    # -- parser events -------------------------------------------------------------------------

    def on_url(self, url: bytes) -> None:
        self._head.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_done:
            return  # trailers end here: nobody behind us expects them
        lower = name.lower()
        self._head.headers.append((name, lower, value))
        self._head_bytes += len(name) + len(value)
        if lower == b"content-length":
            self._announced = value
        elif lower == b"expect":
            self._expects = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        head, parser, limits = self._head, self._parser, self._limits
        head.method = parser.get_method()
        head.version = parser.get_http_version()
        head.keep_alive = parser.should_keep_alive()
        self._head_done = True
        if head.method == b"CONNECT":
            self._fault = BadRequest("this is not a forward proxy; CONNECT is not served")
        elif self._head_bytes + len(head.target) > limits.head_bytes:
            self._fault = self._head_too_large()
        elif self._announced.isdigit() and int(self._announced[:20]) > limits.body_bytes:
            self._fault = self._body_too_large(limits.body_bytes)
        elif self._expects:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
            return
        if isinstance(
            self._body, bytes
        ):  # a list of parts would let one-byte chunks cost 80 bytes each
            self._body = bytearray(self._body)
        self._body += body

    def on_message_complete(self) -> None:
        if self._fault is not None or self._parser.should_upgrade():
            return
        request = (self._head, bytes(self._body))
        self._reset_message()
        if self._task is None and not self._waiting:
            self._begin(*request)
        else:
            self._waiting.append(request)
            self._reading_paused = True
            self._transport.pause_reading()

    # -- reading -------------------------------------------------------------------------------

    def _reset_message(self) -> None:
        self._head = RequestHead()
        self._body = b""
        self._raw_bytes = 0
        self._head_bytes = 0
        self._announced = b""
        self._expects = False
        self._head_done = False
        self._began_s = None

    def _check_size(self) -> None:
        limits = self._limits
        if self._fault is not None:
            return
        if not self._head_done:
            if self._raw_bytes > limits.head_bytes:
                self._fault = self._head_too_large()
        elif self._raw_bytes > limits.body_bytes + limits.head_bytes and (
            # chunk framing, extensions and trailers count too: they are no way around the cap
            len(self._body) > limits.body_bytes
            or self._raw_bytes > 2 * limits.body_bytes + limits.head_bytes
        ):
            self._fault = self._body_too_large(limits.body_bytes)

    def _head_too_large(self) -> ClientError:
        return HeadTooLarge(f"the request head is over {self._limits.head_bytes} bytes; shorten it")

    @staticmethod
    def _body_too_large(limit: int) -> ClientError:
        return BodyTooLarge(
            f"the request body is over {limit} bytes; shorten the prompt or raise limits.body_bytes"
        )

    def _begin(self, head: RequestHead, body: bytes) -> None:
        self.deadline_s = None
        self.started = False
        self._chunked = False
        self._keep_alive = head.keep_alive
        self._task = self._loop.create_task(self._serve(head, body))

    async def _serve(self, head: RequestHead, body: bytes) -> None:
        """Has the front answer one request, then goes on to the next. The task's supervisor: a
        fault of our own gets an answer and a log entry.
        """
        try:
            await self._front.serve(self, head, body)
        except Exception as error:  # noqa: BLE001 -- the one place above all requests
            self._own_fault(error)
        finally:
            self._task = None
        if not self._lost:
            self._go_on()

    def _own_fault(self, error: Exception) -> None:
        if self.started or self._lost:
            self.abort()
        else:
            self.answer(error_bytes(INTERNAL, close=True), close=True)
        self._loop.call_exception_handler(
            {"message": "a request ended in an unexpected error", "exception": error}
        )

    def _go_on(self) -> None:
        if self._fault is not None:
            self._refuse_when_idle()
        elif not self.keep_alive:
            self._transport.close()
            self.deadline_s = self._front.time() + self._timeouts.client_write_s
        elif self._waiting:
            self._begin(*self._waiting.popleft())
        else:
            if self._reading_paused:
                self._reading_paused = False
                self._transport.resume_reading()
            if self._began_s is None:
                self.deadline_s = self._front.time() + self._timeouts.client_idle_s

    def _refuse_when_idle(self) -> None:
        """Answers the fault, unless a request that came before it is still being served."""
        if self._task is not None or self._lost or self._fault is None or self._lingering:
            return
        self._lingering = True
        self._transport.write(error_bytes(self._fault, close=True))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._transport.resume_reading()
        self.deadline_s = self._front.time() + LINGER_S

    def expire(self, now: float) -> None:
        """Ends a wait for the client that has gone past its deadline. Called by the server's
        sweep.
        """
        if self.deadline_s is None or now < self.deadline_s:
            return
        self.deadline_s = None
        if self._lingering or self._began_s is None or self._transport.is_closing():
            self._transport.abort()
        else:
            self._fault = RequestTooSlow("the request did not arrive in time; send it again")
            self._refuse_when_idle()

    # -- writing -------------------------------------------------------------------------------

    @property
    def keep_alive(self) -> bool:
        return self._keep_alive and not self._front.draining

    def send_head(self, head: bytes, *, chunked: bool, close: bool) -> None:
        """Takes a response head; it leaves with the first body bytes or at the end, in one
        segment.
        """
        self._pending_head = head
        self._chunked = chunked
        self._keep_alive = self._keep_alive and not close

    def send(self, data: bytes) -> None:
        """Writes body bytes, framed as the head said."""
        if self._lost:
            return
        if self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._pending_head:
            data = self._pending_head + data
            self._pending_head = b""
        self.started = True
        self._transport.write(data)

    def finish(self) -> None:
        """Ends the current response."""
        if self._lost:
            return
        self.started = True
        tail = self._pending_head + (b"0\r\n\r\n" if self._chunked else b"")
        self._pending_head = b""
        if tail:
            self._transport.write(tail)

    def answer(self, response: bytes, *, close: bool = False) -> None:
        """Writes a whole response of our own."""
        self._keep_alive = self._keep_alive and not close
        if not self._lost:
            self.started = True
            self._transport.write(response)

    def break_off(self) -> None:
        """Closes after what was written, without ending the response: the client sees that it is
        cut.
        """
        self._keep_alive = False
        self._chunked = False

    def abort(self) -> None:
        self._transport.abort()

    def close_if_idle(self) -> None:
        """For a drain: closes a connection that waits for a next request."""
        if self._task is None and self._began_s is None and not self._lingering:
            self._transport.close()
