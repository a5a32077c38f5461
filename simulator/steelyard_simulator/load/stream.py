"""Follows a streamed reply by counting bytes; only the last events are parsed.

An event ends with an empty line, so counting those counts the events at a fraction of a microsecond
per chunk. What the last events say (usage, an error, [DONE]) is read once, from the tail that is
kept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

EVENT_END = b"\n\n"
DATA = b"data:"
DONE = b"[DONE]"
TAIL_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Ending:
    """What the last events of a stream said. None: not said."""

    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    error: str | None = None


class StreamScan:
    """Fed with the chunks of one reply, in order."""

    __slots__ = ("_events", "_tail")

    def __init__(self) -> None:
        self._events = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        # An end that is cut in two by a chunk border is seen through the last byte before it.
        self._events += (self._tail[-1:] + chunk).count(EVENT_END)
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]

    @property
    def events(self) -> int:
        """Complete events so far, the last ones that carry no token included."""
        return self._events

    def ending(self) -> Ending:
        """Reads the tail. A stream without [DONE] was broken off: that is an error."""
        events = [
            event.removeprefix(DATA).strip()
            for event in self._tail.split(EVENT_END)
            if event.startswith(DATA)
        ]
        ending = Ending()
        for event in _objects(events):
            if isinstance(error := event.get("error"), dict):
                return Ending(error=f"in-stream: {error.get('message', 'unknown error')}")
            if _aborted(event):
                return Ending(
                    error="in-stream: the server gave the request up (finish_reason abort)"
                )
            if isinstance(usage := event.get("usage"), dict):
                ending = read_usage(usage)
        if DONE not in events:
            return Ending(error="the stream broke off before [DONE]")
        return ending


def read_usage(usage: Mapping[str, object]) -> Ending:
    """An OpenAI usage object; a server that reports no cached_tokens leaves them None."""
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Ending(
        prompt_tokens=_int(usage.get("prompt_tokens")),
        output_tokens=_int(usage.get("completion_tokens")),
        cached_tokens=_int(cached),
    )


def _objects(events: list[bytes]) -> Iterator[dict[str, object]]:
    for event in events:
        try:
            value = orjson.loads(event)
        except orjson.JSONDecodeError:
            continue  # [DONE], or an event whose head the tail no longer holds
        if isinstance(value, dict):
            yield value


def _aborted(event: Mapping[str, object]) -> bool:
    choices = event.get("choices")
    return isinstance(choices, list) and any(
        isinstance(choice, dict) and choice.get("finish_reason") == "abort" for choice in choices
    )


def _int(value: object) -> int | None:
    return value if type(value) is int else None
