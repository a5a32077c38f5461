"""HTTP/1.1 heads as values: what a request or response head says, and the bytes we send in its
place.

Keeps true: every end-to-end header crosses unchanged and in order; every hop-by-hop header (RFC
9110 7.6.1) and every framing header is ours. Bodies are always re-framed from the parsed message,
never from the sender's framing, so no peer can smuggle a second request behind a first.
"""

import math
from dataclasses import dataclass, field

from steelyard_router.errors import ClientError

Header = tuple[bytes, bytes]
"""Name as it came, value."""

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
FRAMING = frozenset({b"content-length", b"transfer-encoding"})
REQUEST_DROPPED = HOP_BY_HOP | FRAMING | {b"host", b"expect", b"x-request-id"}
RESPONSE_DROPPED = HOP_BY_HOP | FRAMING | {b"x-request-id", b"x-steelyard-instance"}

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


def status_line(status: int) -> bytes:
    return b"HTTP/1.1 %d %s\r\n" % (status, REASONS.get(status, b"Unknown"))


def connection_tokens(headers: list[Header]) -> frozenset[bytes]:
    """Header names that a Connection header declares hop-by-hop, lower-case."""
    tokens: set[bytes] = set()
    for name, value in headers:
        if len(name) == 10 and name.lower() == b"connection":
            tokens.update(token.strip() for token in value.lower().split(b","))
    return frozenset(tokens)


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
        found: dict[str, str] = {}
        for name, value in self.headers:
            found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
        return found

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
        lines = [b"%s %s HTTP/1.1\r\n" % (self.method, self.target)]
        lines += [
            b"%s: %s\r\n" % header
            for header in self.headers
            if header[0].lower() not in (b"upgrade", b"connection", b"http2-settings")
        ]
        if not self.keep_alive:
            lines.append(b"Connection: close\r\n")
        return b"".join([*lines, b"\r\n"])

    def upstream_bytes(self, authority: bytes, body_bytes: int, request_id: bytes) -> bytes:
        """The head to send to an engine at `authority`, framing a body of `body_bytes`."""
        dropped = REQUEST_DROPPED | connection_tokens(self.headers)
        lines = [b"%s %s HTTP/1.1\r\nHost: %s\r\n" % (self.method, self.origin_target, authority)]
        lines += [
            b"%s: %s\r\n" % header for header in self.headers if header[0].lower() not in dropped
        ]
        lines.append(b"X-Request-Id: %s\r\n" % request_id)
        if body_bytes or self.method not in (b"GET", b"HEAD", b"OPTIONS", b"DELETE", b"TRACE"):
            lines.append(b"Content-Length: %d\r\n" % body_bytes)
        lines.append(b"\r\n")
        return b"".join(lines)


@dataclass(slots=True)
class ResponseHead:
    """A response head as an engine sent it."""

    status: int
    headers: list[Header]

    def first(self, name: bytes) -> bytes | None:
        """Value of the first header of that lower-case name."""
        for key, value in self.headers:
            if len(key) == len(name) and key.lower() == name:
                return value
        return None

    @property
    def is_event_stream(self) -> bool:
        return (self.first(b"content-type") or b"").lower().startswith(b"text/event-stream")

    def downstream_bytes(
        self, *, length: bytes | None, chunked: bool, close: bool, added: bytes
    ) -> bytes:
        """The head to send to the client. `added` are whole header lines of our own."""
        dropped = RESPONSE_DROPPED | connection_tokens(self.headers)
        lines = [status_line(self.status)]
        lines += [
            b"%s: %s\r\n" % header for header in self.headers if header[0].lower() not in dropped
        ]
        lines.append(added)
        if length is not None:
            lines.append(b"Content-Length: %s\r\n" % length)
        elif chunked:
            lines.append(b"Transfer-Encoding: chunked\r\n")
        if close:
            lines.append(b"Connection: close\r\n")
        lines.append(b"\r\n")
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
