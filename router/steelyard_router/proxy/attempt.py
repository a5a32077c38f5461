"""One try of a request on one instance: from the upstream request to the last byte for the client.

Keeps true: nothing reaches the client before the first body byte, so until then the try can be
given up for another instance; after it, bytes are spliced as they come and nothing is retried. It
ends exactly once, with an `Ending` in `done`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import orjson

from steelyard_router.proxy.message import ResponseHead
from steelyard_router.proxy.tail import Scan, scan_for
from steelyard_router.proxy.upstream import BODILESS, UpstreamConnection

if TYPE_CHECKING:
    from steelyard_router.config import Timeouts
    from steelyard_router.proxy.downstream import ClientConnection
    from steelyard_router.proxy.roster import Member
    from steelyard_router.scheduling.lease import Lease

ERROR_EVENT = b'data: {"error"'
PROGRESS_EVENTS = 32
"""The ledger hears of generated tokens every so many events: often enough for a context-size
estimate.
"""


class Cause(StrEnum):
    """Why a try ended."""

    DELIVERED = "delivered"
    STALE = "stale"
    """A reused connection that the engine had closed meanwhile: not the engine's fault."""
    CONNECT = "connect"
    CLOSED = "closed"
    STATUS = "status"
    TIMEOUT = "timeout"
    CLIENT = "client"
    """The client stopped reading."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a try ended; `started`: after the client had its first byte."""

    cause: Cause
    reason: str = ""
    started: bool = False


class Context(Protocol):
    """What a try takes from its request."""

    @property
    def client(self) -> "ClientConnection": ...
    @property
    def timeouts(self) -> "Timeouts": ...
    @property
    def method(self) -> bytes: ...
    @property
    def http11(self) -> bool: ...
    @property
    def streams(self) -> bool: ...
    @property
    def time(self) -> Callable[[], float]: ...
    def added_headers(self, member: "Member") -> bytes: ...
    def may_retry(self, cause: Cause) -> bool: ...
    def prefilled(self) -> None: ...


class Attempt:
    """The sink of one upstream response."""

    __slots__ = (
        "_client",
        "_connection",
        "_context",
        "_head",
        "_lease",
        "_member",
        "_next_progress",
        "_time",
        "begun",
        "done",
        "first_token_s",
        "last_byte_s",
        "last_token_s",
        "scan",
        "sent_s",
    )

    def __init__(
        self,
        context: Context,
        *,
        member: "Member",
        lease: "Lease",
        now: float,
    ) -> None:
        self._context = context
        self._client = context.client
        self._time = context.time
        self._member = member
        self._lease = lease
        self._connection: UpstreamConnection | None = None
        self._head: ResponseHead | None = None
        self._next_progress = PROGRESS_EVENTS
        self.scan: Scan | None = None
        """Of the response's body, once its head is there."""
        self.sent_s = now
        self.last_byte_s = now
        self.first_token_s: float | None = None
        self.last_token_s = 0.0
        self.begun = False
        """Whether the client has been sent anything."""
        self.done: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    @property
    def status(self) -> int:
        return self._head.status if self._head is not None else 0

    def send(
        self, connection: UpstreamConnection, head: bytes, body: bytes, now: float
    ) -> "asyncio.Future[Ending]":
        """Sends the request; the future tells how the try ended."""
        self._connection = connection
        self.sent_s = self.last_byte_s = now
        self._client.flow.follow(connection.pause)
        connection.send(head, body, self._context.method, self)
        return self.done

    def cancel(self) -> None:
        """Gives the try up: the engine sees its connection close and stops working for nobody."""
        if not self.done.done():
            self.done.cancel()
        self._client.flow.follow(None)
        if self._connection is not None:
            self._connection.detach()

    # -- the response, as it comes ---------------------------------------------------------------

    def on_head(self, head: ResponseHead) -> None:
        self._member.last_byte_at = self.last_byte_s = self._time()
        self._head = head
        if head.status >= 500 and self._context.may_retry(Cause.STATUS):
            self._give_up(Ending(Cause.STATUS, f"it answered {head.status}"))
            return
        noted = head.noted
        self.scan = scan_for(
            noted.get(b"content-type", b"").decode("latin-1"),
            noted.get(b"content-encoding", b"").decode("latin-1"),
        )

    def on_body(self, data: bytes) -> None:
        now = self._time()
        self._member.last_byte_at = self.last_byte_s = now
        if not self.begun:
            if data.startswith(ERROR_EVENT) and self._context.may_retry(Cause.STATUS):
                self._give_up(Ending(Cause.STATUS, "its stream began with an error"))
                return
            self._begin()
        scan = self.scan
        assert scan is not None
        scan.feed(data)
        self._client.send(data)
        if scan.first_token:
            self.last_token_s = now
            if self.first_token_s is None:
                self.first_token_s = now
                if self._context.streams:
                    self._lease.first_byte(now)
                    self._context.prefilled()
            elif scan.output_events >= self._next_progress:
                self._next_progress = scan.output_events + PROGRESS_EVENTS
                self._lease.progress(scan.output_events, now)

    def on_end(self) -> None:
        self._member.last_byte_at = self._time()
        if not self.begun:
            self._begin()
        self._client.finish()
        self._end(Ending(Cause.DELIVERED, started=True))

    def on_broken(self, reason: str) -> None:
        if self.begun:
            self._break_off(Cause.CLOSED, reason)
            return
        assert self._connection is not None
        untouched = self._head is None and self._connection.exchanges > 1
        self._end(Ending(Cause.STALE if untouched else Cause.CLOSED, reason))

    # -- time -------------------------------------------------------------------------------------

    def expire(self, now: float, started_s: float) -> None:
        """Ends the try when one of its waits is over; `started_s`: when the request came in."""
        paused_since_s = self._client.flow.paused_since_s
        waits = self._context.timeouts
        if paused_since_s is not None:
            if now - paused_since_s > waits.client_write_s:
                self._give_up(
                    Ending(Cause.CLIENT, "the client stopped reading", started=self.begun)
                )
                self._client.abort()
        elif now - started_s > waits.total_s:
            self._time_out(f"no end within {waits.total_s:g} s")
        elif self.begun and now - self.last_byte_s > waits.between_bytes_s:
            self._time_out(f"silent for {waits.between_bytes_s:g} s in mid-response")
        elif self._member.healthy is False or (self._context.streams and not self.begun):
            # a long queue is not a hang: only an instance that is silent as a whole is given up
            silent_since_s = max(self._member.last_byte_at, self.sent_s)
            if now - silent_since_s > waits.first_byte_s:
                self._time_out(f"not a byte from it within {waits.first_byte_s:g} s")

    # -- endings ----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """The first byte for the client: from here on there is no way back."""
        head = self._head
        assert head is not None
        self.begun = True
        length = head.length
        bodiless = self._context.method == b"HEAD" or head.status in BODILESS
        chunked = length is None and not bodiless and self._context.http11
        close = length is None and not bodiless and not self._context.http11
        self._client.send_head(
            head.downstream_bytes(
                length=length,
                chunked=chunked,
                close=close or not self._client.keep_alive,
                added=self._context.added_headers(self._member),
            ),
            chunked=chunked,
            close=close,
        )

    def _time_out(self, reason: str) -> None:
        if self.begun:
            self._break_off(Cause.TIMEOUT, reason)
        else:
            self._give_up(Ending(Cause.TIMEOUT, reason))

    def _break_off(self, cause: Cause, reason: str) -> None:
        """The response cannot go on: say so in the stream, then close without ending it."""
        head = self._head
        if head is not None and head.is_event_stream and head.length is None:
            error = {
                "message": f"the stream broke off: {reason}",
                "type": "upstream_error",
                "param": None,
                "code": "stream_broken",
            }
            self._client.send(b"data: " + orjson.dumps({"error": error}) + b"\n\n")
        self._client.break_off()
        self._give_up(Ending(cause, reason, started=True))

    def _give_up(self, ending: Ending) -> None:
        if self._connection is not None:
            self._connection.detach()
        self._end(ending)

    def _end(self, ending: Ending) -> None:
        self._client.flow.follow(None)
        if not self.done.done():
            self.done.set_result(ending)
