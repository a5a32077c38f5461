"""The router's own traffic as a trace, for `steelyard record` to keep and `simulate` to play.

The form. Somebody who reads `GET /debug/record` gets one JSON line for each request that ends:
Mooncake's `timestamp` (ms since the recording began), `input_length`, `output_length` and
`hash_ids`, and beside them what the router alone knows (`line` lists it). It is a stream and not a
file of the router's, because pods have read-only roots, no volume and several replicas, while who
reads has a disk; and because a stream ends with its reader, so nothing can be left switched on.
There is nothing to read unless the configuration says `debug: {record: true}` (live) or the
environment STEELYARD_RECORD=1 (for routers whose configuration is compiled).

What it keeps true. No text and no hash that could be looked up leaves the process: the hash of each
256-byte block is hashed again under a key made of the process's secret salt and the recording's
name, so equal beginnings are equal inside one recording and mean nothing outside. Replicas that
share a salt give one recording equal hashes. Memory is bounded whatever the reader does: what does
not fit into its queue is dropped and counted. A request pays for an append; hashing and writing are
the reader's.
"""

import secrets
from collections import deque
from dataclasses import dataclass
from hashlib import blake2b, blake2s
from struct import Struct

import orjson

from steelyard_router.analysis.analyzer import Analysis
from steelyard_router.config import Debug
from steelyard_router.observability.outcome import Asked, Outcome
from steelyard_router.scheduling.request import HASH_BYTES

VERSION = 1
MOST_READINGS = 4
QUEUE_REQUESTS = 4096
QUEUE_BYTES = 16 * 1024 * 1024
REQUEST_BYTES = 1024
"""What a queued request takes beside its hashes, or somewhat less."""
ID_BITS = 53
"""Of a block's id: whole in every reader of JSON, and alone among millions."""
ID_CUT = 8 * HASH_BYTES - ID_BITS

_BLOCK = Struct(f"{HASH_BYTES}s")

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of what waits for one reader."""

    requests: int = QUEUE_REQUESTS
    bytes: int = QUEUE_BYTES


class Reading:
    """One recording by one reader: requests that come in between the two times."""

    def __init__(self, key: bytes, began_s: float, until_s: float, bounds: Bounds) -> None:
        self.began_s = began_s
        self.until_s = until_s
        self.open = 0
        """Requests of it that still run."""
        self.written = 0
        self.dropped = 0
        self._hash = blake2s(key=key, digest_size=HASH_BYTES)
        self._bounds = bounds
        self._queue: deque[tuple[Outcome, Asked]] = deque()
        self._bytes = 0

    def has(self, asked: Asked) -> bool:
        return self.began_s < asked.at_s < self.until_s

    def offer(self, outcome: Outcome, asked: Asked) -> bool:
        """Whether there was room."""
        size = REQUEST_BYTES + len(asked.view.blocks)
        if len(self._queue) >= self._bounds.requests or self._bytes + size > self._bounds.bytes:
            self.dropped += 1
            return False
        self._bytes += size
        self._queue.append((outcome, asked))
        return True

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def take(self) -> bytes:
        """The next line of those that wait."""
        outcome, asked = self._queue.popleft()
        self._bytes -= REQUEST_BYTES + len(asked.view.blocks)
        self.written += 1
        return orjson.dumps(self.line(outcome, asked), option=orjson.OPT_APPEND_NEWLINE)

    def head(self, unix_s: float) -> bytes:
        """The first line; `unix_s` is the time of day at `began_s`."""
        return _json({"steelyard_record": VERSION, "started_unix_ms": round(unix_s * 1000)})

    def end(self, reason: str) -> bytes:
        """The last line: why it ended, and what is missing."""
        counts = {"requests": self.written, "dropped": self.dropped, "unfinished": self.open}
        return _json({"steelyard_end": {"reason": reason, **counts}})

    def line(self, outcome: Outcome, asked: Asked) -> Json:
        """Lengths are the engine's own where it reported usage, else estimates. `output_length` and
        `input_length` sum over `sequences` (n, or several prompts); the blocks are of the first.
        """
        view = asked.view
        row: Json = {
            "timestamp": round((asked.at_s - self.began_s) * 1000, 1),
            "input_length": outcome.prompt_tokens,
            "output_length": outcome.output_tokens,
            "hash_ids": self._ids(view.blocks),
            "block_tokens": round(view.block_tokens, 2),
            "workload": outcome.workload,
            "result": outcome.result,
            "streamed": outcome.streams,
            "cached_tokens": outcome.cached_tokens,
            "ttft_ms": _milliseconds(outcome.ttft_s),
            "e2e_ms": _milliseconds(outcome.e2e_s),
        }
        if view.sequences != 1:
            row["sequences"] = view.sequences
        if view.session is not None:
            row["session_id"] = self._session(view.session)
        return row

    def _ids(self, blocks: bytes) -> list[int]:
        copy, number = self._hash.copy, int.from_bytes
        ids: list[int] = []
        for (block,) in _BLOCK.iter_unpack(blocks):
            hashed = copy()
            hashed.update(block)
            ids.append(number(hashed.digest(), "little") >> ID_CUT)
        return ids

    def _session(self, session: str) -> str:
        hashed = self._hash.copy()
        hashed.update(b"session\0" + session.encode(errors="backslashreplace"))
        return hashed.hexdigest()


class Recorder:
    """All recordings of a router. `always`: allowed whatever the configuration says."""

    def __init__(
        self, *, salt: bytes | None = None, always: bool = False, bounds: Bounds | None = None
    ) -> None:
        self.readings: list[Reading] = []
        """Empty nearly always: the one thing that a request looks at."""
        self.recorded = 0
        self.dropped = 0
        self.closing = False
        self._salt = blake2b(salt or secrets.token_bytes(32), digest_size=32).digest()
        self._always = always
        self._configured = False
        self._bounds = bounds or Bounds()

    @property
    def allowed(self) -> bool:
        return self._always or self._configured

    @property
    def full(self) -> bool:
        return len(self.readings) >= MOST_READINGS

    def update(self, debug: Debug) -> None:
        """Follow the configuration; readings end by themselves where they are not allowed."""
        self._configured = debug.record

    def begin(self, name: str, now: float, seconds: float) -> Reading:
        """Record for so long, until `finish`. Readings of one name and salt have equal hashes."""
        key = blake2b(name.encode(), key=self._salt, digest_size=32).digest()
        reading = Reading(key, now, now + seconds, self._bounds)
        self.readings.append(reading)
        return reading

    def finish(self, reading: Reading) -> None:
        self.readings.remove(reading)

    def asked(self, analysis: Analysis, at_s: float) -> Asked | None:
        """What to keep of a request that came in while somebody reads; None: it computes nothing.

        Whatever this gives must come to `ended`, in an outcome.
        """
        if not (analysis.generates or analysis.view.prompt_tokens > 1):
            return None
        asked = Asked(at_s, analysis.view)
        for reading in self.readings:
            reading.open += reading.has(asked)
        return asked

    def ended(self, outcome: Outcome, asked: Asked) -> None:
        for reading in self.readings:
            if reading.has(asked):
                reading.open -= 1
                if reading.offer(outcome, asked):
                    self.recorded += 1
                else:
                    self.dropped += 1


def _json(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
