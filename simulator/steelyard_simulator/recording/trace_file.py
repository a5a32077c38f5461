"""The file of a recording: written as it comes, so that what was heard is kept whatever happens.

Ids of blocks are small numbers in the order of first appearance, as in Mooncake's traces: nothing
is left of the hashes that routers sent. The file is bounded, and so is the memory: the oldest of
MOST_IDS blocks is forgotten and gets a new number when it comes again.
"""

import gzip
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson

from steelyard_simulator.load.recorded import END, MARK, VERSION

MOST_IDS: Final = 4_000_000
"""Half a gigabyte; 250 million tokens, more than a large fleet caches."""
END_BYTES: Final = 512
"""Kept free for the last line."""

Row = dict[str, Any]


class TraceFile:
    """Begin it, add rows until it is full, end it. A name in .gz is compressed.

    Before `begin` nothing is written, and a file that was there stays.
    """

    def __init__(self, path: Path, *, max_bytes: int, most_ids: int = MOST_IDS) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._left = max_bytes - END_BYTES
        self._ids: dict[int, int] = {}
        self._most_ids = most_ids
        self._next = 0
        self._began_ms = 0.0
        self.requests = 0
        self.span_s = 0.0

    def begin(self, started_unix_ms: float) -> None:
        """The clock of all timestamps begins here; a second call changes nothing."""
        if self._file is None:
            self._file = _opened(self._path)
            self._began_ms = started_unix_ms
            self._write({MARK: VERSION, "started_unix_ms": started_unix_ms})

    def add(self, row: Row, router_unix_ms: float) -> bool:
        """A request of a router whose own clock began then; False: the file is full."""
        at_ms = max(0.0, row["timestamp"] + router_unix_ms - self._began_ms)
        ids = [self._id(block) for block in row["hash_ids"]]
        numbered = {**row, "timestamp": round(at_ms, 1), "hash_ids": ids}
        if not self._write(numbered):
            return False
        self.requests += 1
        self.span_s = max(self.span_s, at_ms / 1000)
        return True

    def end(self, reason: str, **counts: int) -> None:
        if self._file is not None:
            self._left += END_BYTES
            self._write({END: {"reason": reason, "requests": self.requests, **counts}})
            self._file.close()

    def _id(self, block: int) -> int:
        known = self._ids.get(block)
        if known is None:
            if len(self._ids) >= self._most_ids:
                del self._ids[next(iter(self._ids))]
            known = self._ids[block] = self._next
            self._next += 1
        return known

    def _write(self, row: Row) -> bool:
        assert self._file is not None, "it has not begun"
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        if len(line) > self._left:
            return False
        self._left -= len(line)
        self._file.write(line)
        return True


def _opened(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = path.open("wb")
    return cast("IO[bytes]", _Gzip(raw)) if path.suffix == ".gz" else raw


class _Gzip(gzip.GzipFile):
    """Closes the file below too."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(fileobj=raw, mode="wb")
        self._raw = raw

    def close(self) -> None:
        super().close()
        self._raw.close()
