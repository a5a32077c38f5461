"""HTTP/1.1 heads as values: what a request or response head says, and the bytes we send in its
place.

Keeps true: every end-to-end header crosses unchanged and in order, but for a rank among an engine's
requests (rank.py); every hop-by-hop header (RFC 9110 7.6.1) and every framing header is ours.
Bodies are always re-framed from the parsed message, never from the sender's framing, so no peer can
smuggle a second request behind a first.
"""

import math
from dataclasses import dataclass, field

from steelyard_router.errors import ClientError
from steelyard_router.proxy import rank

Header = tuple[bytes, bytes, bytes]
"""Name as it came, name in lower case, value."""

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
    }
)
PLAIN_CONNECTION = frozenset({b"keep-alive", b"close", b"Keep-Alive", b"Close"})
"""Values of a Connection header that declare no further header hop-by-hop."""
FRAMING = frozenset({b"content-length", b"transfer-encoding"})
REQUEST_DROPPED = HOP_BY_HOP | FRAMING | {b"host", b"expect", b"x-request-id", rank.NAME}
RESPONSE_DROPPED = HOP_BY_HOP | FRAMING | {b"x-request-id", b"x-steelyard-instance"}

BODILESS_METHODS = frozenset({b"GET", b"HEAD", b"OPTIONS", b"DELETE", b"TRACE"})
"""Methods whose requests carry no Content-Length when they have no body."""

REASONS = {
    200: b"OK",
    201: b"Created",
    202: b"Accepted",
    204: b"No Content",
    304: b"Not Modified",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    409: b"Conflict",
    413: b"Content Too Large",
    422: b"Unprocessable Content",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    499: b"Client Closed Request",
    500: b"Internal Server Error",
    501: b"Not Implemented",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
}


STATUS_LINES = {
    status: b"HTTP/1.1 %d %b\r\n" % (status, reason) for status, reason in REASONS.items()
}


def status_line(status: int) -> bytes:
    return STATUS_LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status


def connection_tokens(headers: list[Header]) -> frozenset[bytes]:
    """Header names that a Connection header declares hop-by-hop, lower-case."""
    tokens: set[bytes] = set()
    for _, lower, value in headers:
        if lower == b"connection" and value not in PLAIN_CONNECTION:
            tokens.update(token.strip() for token in value.lower().split(b","))
    return frozenset(tokens)


def header_lines(headers: list[Header], dropped: frozenset[bytes]) -> list[bytes]:
    """The end-to-end headers as lines, in order."""
    if tokens := connection_tokens(headers):
        dropped |= tokens
    return [b"%b: %b\r\n" % (name, value) for name, lower, value in headers if lower not in dropped]


@dataclass(slots=True)
class RequestHead:
    """A request head as a client sent it."""

    method: bytes = b""
    target: bytes = b""
    version: str = "1.1"
    headers: list[Header] = field(default_factory=list)
    keep_alive: bool = True

    def named(self) -> dict[str, str]:
        """Headers by lower-case name for reading; of repeated ones the first counts."""
        return {
            lower.decode("latin-1"): value.decode("latin-1")
            for _, lower, value in reversed(self.headers)
        }

    @property
    def origin_target(self) -> bytes:
        """The target in origin form: an absolute form (RFC 9112 3.2.2) loses scheme and
        authority.
        """
        target = self.target
        if target.startswith(b"/"):
            return target
        _, found, rest = target.partition(b"://")
        if not found:
            return target
        slash = rest.find(b"/")
        return rest[slash:] if slash >= 0 else b"/"

    @property
    def path(self) -> str:
        return self.origin_target.partition(b"?")[0].decode("latin-1")

    def without_upgrade(self) -> bytes:
        """The head as it came, but for the wish to change the protocol."""
        lines = [b"%b %b HTTP/1.1\r\n" % (self.method, self.target)]
        lines += [
            b"%b: %b\r\n" % (name, value)
            for name, lower, value in self.headers
            if lower not in (b"upgrade", b"connection", b"http2-settings")
        ]
        if not self.keep_alive:
            lines.append(b"Connection: close\r\n")
        return b"".join([*lines, b"\r\n"])

    def upstream_bytes(
        self, authority: bytes, body_bytes: int, request_id: bytes, added: bytes = b""
    ) -> bytes:
        """The head to send to an engine at `authority`, framing a body of `body_bytes`. `added` are
        whole header lines of our own.
        """
        lines = [b"%b %b HTTP/1.1\r\nHost: %b\r\n" % (self.method, self.origin_target, authority)]
        lines += header_lines(self.headers, REQUEST_DROPPED)
        lines.append(b"X-Request-Id: %b\r\n%b" % (request_id, added))
        if body_bytes or self.method not in BODILESS_METHODS:
            lines.append(b"Content-Length: %d\r\n" % body_bytes)
        lines.append(b"\r\n")
        return b"".join(lines)


NOTED = frozenset({b"content-length", b"transfer-encoding", b"content-type", b"content-encoding"})
"""Response headers that we act on."""


class ResponseHead:
    """A response head as an engine sent it."""

    __slots__ = ("headers", "noted", "status")

    def __init__(self, status: int, headers: list[Header]) -> None:
        self.status = status
        self.headers = headers
        self.noted = {lower: value for _, lower, value in reversed(headers) if lower in NOTED}
        """The first of each of the `NOTED`, by lower-case name."""

    @property
    def length(self) -> bytes | None:
        """Content-Length as it came."""
        return self.noted.get(b"content-length")

    @property
    def is_event_stream(self) -> bool:
        return self.noted.get(b"content-type", b"").lower().startswith(b"text/event-stream")

    def downstream_bytes(
        self, *, length: bytes | None, chunked: bool, close: bool, added: bytes
    ) -> bytes:
        """The head to send to the client. `added` are whole header lines of our own."""
        lines = [status_line(self.status)]
        lines += header_lines(self.headers, RESPONSE_DROPPED)
        lines.append(added)
        if length is not None:
            lines.append(b"Content-Length: %b\r\n" % length)
        elif chunked:
            lines.append(b"Transfer-Encoding: chunked\r\n")
        lines.append(b"Connection: close\r\n\r\n" if close else b"\r\n")
        return b"".join(lines)


def json_bytes(
    body: bytes, *, status: int = 200, close: bool, request_id: bytes = b"", extra: bytes = b""
) -> bytes:
    """A whole response of our own. `extra` are whole header lines."""
    lines = [status_line(status), b"Content-Type: application/json\r\n"]
    lines.append(b"Content-Length: %d\r\n" % len(body))
    if request_id:
        lines.append(b"X-Request-Id: %s\r\n" % request_id)
    if close:
        lines.append(b"Connection: close\r\n")
    lines += [extra, b"\r\n", body]
    return b"".join(lines)


def error_bytes(error: ClientError, *, close: bool, request_id: bytes = b"") -> bytes:
    """A whole response that carries an error of our own."""
    extra = b""
    if error.retry_after_s is not None:
        extra = b"Retry-After: %d\r\n" % max(1, math.ceil(error.retry_after_s))
    return json_bytes(
        error.body(), status=error.status, close=close, request_id=request_id, extra=extra
    )
