"""What passing response bodies say, at a price that a byte path can pay.

No chunk is parsed. A stream's events are counted by their separators, and of every body only the
end is kept: usage, errors inside a stream and the mark of a proper end all stand there. `finish`
reads them once, after the last byte, from the last few events or the parsed document: searching
kilobytes for words costs more than anything else here. All scans have one interface, so the byte
path asks no questions; `scan_for` picks one by the response's head.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import orjson

STREAM_TAIL_BYTES = 8 * 1024
FINAL_BYTES = 1024
"""What is looked for stands in the events that reach into the last bytes of a stream."""
JSON_WHOLE_BYTES = 64 * 1024
"""A JSON body up to this size is parsed; of a longer one, this much of its end is searched."""
EVENT_HEAD_BYTES = 256
"""By then at the latest it is plain what kind of event has begun."""
ERROR_KIND_CHARS = 64

PREAMBLE = re.compile(
    rb":|event: ?response\.(?:created|queued|in_progress)\b"
    rb'|data: ?\{[^{]*"type": ?"response\.(?:created|queued|in_progress)"'
)
"""Comments, and the events of the Responses API that come before the first token."""
END_MARKS = (b"data: [DONE]", b"data:[DONE]")
END_BYTES = 64
"""The end mark and the white space after it take no more."""
FINAL_EVENT = re.compile(
    rb'^data: ?\{[^{]*"type": ?"response\.(?:completed|incomplete|failed)"', re.MULTILINE
)
ERROR_EVENT = re.compile(rb'^data: ?(\{.*"(?:error|response\.failed)".*)$', re.MULTILINE)
ABORT = re.compile(rb'"finish_reason"\s*:\s*"abort"')
USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
LF_ENDS, CRLF_ENDS = re.compile(rb"\n\n"), re.compile(rb"\r\n\r\n")
"""Ends of events. Counting them by pattern takes a fifth of the time of `bytes.count`."""
BRACE = re.compile(rb"[{}]")
CLIENT_KINDS = frozenset({"BadRequestError", "invalid_request_error"})


@dataclass(slots=True)
class Usage:
    """Tokens as the engine counted them; None where it did not say."""

    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


class Scan(ABC):
    """Facts of one response body. `first_token` and `output_events` are live, the others are there
    after `finish`.
    """

    __slots__ = (
        "_finished", "aborted", "done", "error", "error_code", "error_kind", "first_token",
        "output_events", "usage",
    )  # fmt: skip

    def __init__(self) -> None:
        self._finished = False
        self.first_token = False
        """Whether output has begun: the first event that is more than an announcement, or any
        byte.
        """
        self.output_events = 0
        """Events of a stream that carry output; a learned ratio makes tokens of them without
        usage.
        """
        self.usage: Usage | None = None
        self.error = False
        """Whether the body holds an error; engines send those inside a stream under HTTP 200."""
        self.error_kind = ""
        self.error_code: int | None = None
        self.aborted = False
        """Whether the engine gave the request up (finish_reason "abort"), so the text is cut."""
        self.done = False
        """Whether the body came to the end that its format asks for."""

    @property
    def clients_fault(self) -> bool:
        """Whether the error is of the 4xx kind, which never counts against an instance."""
        if self.error_code is not None:
            return 400 <= self.error_code < 500
        return self.error_kind in CLIENT_KINDS

    @abstractmethod
    def feed(self, chunk: bytes) -> None:
        """The next bytes of the body, however they are cut."""

    def finish(self) -> None:
        """Read the end of the body; a second call does nothing."""
        if not self._finished:
            self._finished = True
            self._conclude()

    @abstractmethod
    def _conclude(self) -> None: ...

    def _take_error(self, payload: object) -> None:
        """Note the error that a parsed event or body holds, if it does."""
        error = _error_in(payload)
        if error is None:
            return
        self.error = True
        kind, code = error.get("type"), error.get("code")
        self.error_kind = str(kind or code or "")[:ERROR_KIND_CHARS]
        if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()):
            self.error_code = int(code)


class StreamScan(Scan):
    """Server-sent events, with LF or CRLF line ends."""

    __slots__ = ("_carry", "_chunks", "_head", "_held", "_separator", "_separators")

    def __init__(self) -> None:
        super().__init__()
        self._separator = b"\n\n"
        self._separators = LF_ENDS.findall
        self._carry = b""
        """Last bytes seen, where they may be the begin of a separator."""
        self._head = b""
        """Begin of the event that is to show whether output has begun."""
        self._chunks: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._held += len(chunk)
        if self._held > 2 * STREAM_TAIL_BYTES:
            self._trim()
        data = self._carry + chunk if self._carry else chunk
        if not self.first_token:
            self._look_for_token(data, chunk)
        self.output_events += len(self._separators(data))
        separator = self._separator
        self._carry = b"" if data.endswith(separator) else data[1 - len(separator) :]

    def _look_for_token(self, data: bytes, chunk: bytes) -> None:
        if b"\r" in data and b"\r\n" in data:  # one byte is found many times as fast as two
            self._separator = b"\r\n\r\n"
            self._separators = CRLF_ENDS.findall
        size = len(self._separator)
        head = self._head + chunk
        while (end := head.find(self._separator)) >= 0 or len(head) >= EVENT_HEAD_BYTES:
            if not PREAMBLE.match(head):
                self.first_token = True
                self._head = b""
                return
            if end < 0:  # a long announcement: what tells it, and what its end may begin with
                head = head[:EVENT_HEAD_BYTES] + head[EVENT_HEAD_BYTES:][-size:]
                break
            self.output_events -= 1
            head = head[end + size :]
        self._head = head

    def _trim(self) -> None:
        tail = b"".join(self._chunks)[-STREAM_TAIL_BYTES:]
        self._chunks = [tail]
        self._held = len(tail)

    def _conclude(self) -> None:
        tail = b"".join(self._chunks)[-STREAM_TAIL_BYTES:]
        self._chunks = []
        if len(tail) > FINAL_BYTES:
            begin = tail.rfind(self._separator, 0, len(tail) - FINAL_BYTES)
            tail = tail[max(begin, 0) :].lstrip()
        self.usage = _last_usage(tail)
        self.aborted = b'"abort"' in tail and ABORT.search(tail) is not None
        if b'"error"' in tail or b"response.failed" in tail:
            for line in ERROR_EVENT.findall(tail):
                self._take_error(_parsed(line))
        marked = tail[-END_BYTES:].rstrip().endswith(END_MARKS)
        self.done = marked or _has_final_event(tail)
        if marked and tail.endswith(self._separator):
            self.output_events -= 1


class JsonScan(Scan):
    """One JSON document."""

    __slots__ = ("_chunks", "_held", "_whole")

    def __init__(self) -> None:
        super().__init__()
        self._chunks: list[bytes] = []
        self._held = 0
        self._whole = True

    def feed(self, chunk: bytes) -> None:
        self.first_token = True
        self._chunks.append(chunk)
        self._held += len(chunk)
        if self._held > 2 * JSON_WHOLE_BYTES:
            self._trim()

    def _trim(self) -> None:
        body = b"".join(self._chunks)
        self._whole = self._whole and len(body) <= JSON_WHOLE_BYTES
        self._chunks = [body[-JSON_WHOLE_BYTES:]]
        self._held = len(self._chunks[0])

    def _conclude(self) -> None:
        if len(self._chunks) != 1 or self._held > JSON_WHOLE_BYTES:
            self._trim()
        tail, self._chunks = self._chunks[0], []
        if not self._whole:
            self.usage = _last_usage(tail)
            self.aborted = ABORT.search(tail) is not None
            self.done = tail.rstrip().endswith((b"}", b"]"))
            return
        payload = _parsed(tail)
        self.done = payload is not None
        if isinstance(payload, dict):
            self.usage = _usage(payload.get("usage"))
            self.aborted = _is_aborted(payload.get("choices"))
            self._take_error(payload)


class BlindScan(Scan):
    """A body that cannot be read in passing: compressed, or of another type."""

    __slots__ = ()

    def feed(self, chunk: bytes) -> None:
        self.first_token = self.first_token or bool(chunk)

    def _conclude(self) -> None:
        self.done = True


USUAL_SCANS: Mapping[str, Callable[[], Scan]] = MappingProxyType(
    {
        "": BlindScan,
        "application/json": JsonScan,
        "text/event-stream": StreamScan,
        "text/event-stream; charset=utf-8": StreamScan,
    }
)
"""What nearly all engines send: these need no reading."""


def scan_for(content_type: str, content_encoding: str = "") -> Scan:
    """The scan for a response with these headers (values as they came; absent: "")."""
    if not content_encoding and (usual := USUAL_SCANS.get(content_type)) is not None:
        return usual()
    if content_encoding.strip().lower() not in {"", "identity"}:
        return BlindScan()
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == "text/event-stream":
        return StreamScan()
    if media_type == "application/json" or media_type.endswith("+json"):
        return JsonScan()
    return BlindScan()


def _parsed(document: bytes) -> object:
    """None when it is no JSON (or is null)."""
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError:
        return None


def _is_aborted(choices: object) -> bool:
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict) and choice.get("finish_reason") == "abort":
                return True
    return False


def _error_in(payload: object) -> dict[str, object] | None:
    """The error object of an event or a body, in any of the shapes that engines use."""
    if not isinstance(payload, dict):
        return None
    if payload.get("type") == "response.failed":
        payload = payload.get("response")
        return (_error_in(payload) or {}) if isinstance(payload, dict) else {}
    error = payload.get("error")
    if isinstance(error, dict):
        return error
    if error and isinstance(error, str):
        return {"type": error}
    return payload if "error" in (payload.get("type"), payload.get("object")) else None


def _has_final_event(tail: bytes) -> bool:
    """Whether a stream of the Responses API has ended. Its final event repeats the whole output, so
    the begin of it may be out of the tail; but no other event of that API carries usage.
    """
    if b'"input_tokens"' in tail[_usage_at(tail) :]:
        return True
    return b'"response.' in tail and FINAL_EVENT.search(tail) is not None


def _usage_at(tail: bytes) -> int:
    """Where the object of the last "usage" begins; the end of the tail when there is none."""
    begin = tail.rfind(b'"usage"')
    if begin < 0:
        return len(tail)
    if (match := USAGE.match(tail, begin)) is not None:
        return match.end()
    last = len(tail)  # null in the last event: an earlier one may have told
    for match in USAGE.finditer(tail):
        last = match.end()
    return last


def _last_usage(tail: bytes) -> Usage | None:
    """Usage without parsing what is around it. Text cannot forge it: quotes in text are escaped."""
    begin, depth = _usage_at(tail), 0
    if begin == len(tail):
        return None
    for brace in BRACE.finditer(tail, begin):
        depth += 1 if brace.group() == b"{" else -1
        if depth == 0:
            return _usage(_parsed(tail[begin : brace.end()]))
    return None


def _usage(told: object) -> Usage | None:
    """From the object of chat and text completions, or of the Responses API."""
    if not isinstance(told, dict):
        return None
    details = told.get("prompt_tokens_details") or told.get("input_tokens_details")
    return Usage(
        prompt_tokens=_count(told.get("prompt_tokens", told.get("input_tokens"))),
        output_tokens=_count(told.get("completion_tokens", told.get("output_tokens"))),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
