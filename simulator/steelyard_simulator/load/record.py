"""Reads single fields of a trace line, and says what is wrong with them in words a person can act
on.
"""

from collections.abc import Mapping
from pathlib import Path

import orjson

from steelyard_simulator.load.errors import TraceError

Json = Mapping[str, object]


class Record:
    """One JSON object of a trace, with the place it stands in."""

    def __init__(self, path: Path, line: int, fields: Json) -> None:
        self._path = path
        self._line = line
        self._fields = fields

    @classmethod
    def parse(cls, path: Path, line: int, text: str) -> "Record":
        try:
            fields = orjson.loads(text)
        except orjson.JSONDecodeError as exc:
            raise TraceError(path, f"is not JSON ({exc.msg})", line=line) from exc
        if not isinstance(fields, dict):
            raise TraceError(path, "is not a JSON object", line=line)
        return cls(path, line, fields)

    def error(self, reason: str) -> TraceError:
        return TraceError(self._path, reason, line=self._line)

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def number(self, name: str) -> float:
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"`{name}` must be a number, not {value!r:.60}")
        return float(value)

    def count(self, name: str) -> int:
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(f"`{name}` must be a whole number of at least 0, not {value!r:.60}")
        return value

    def ids(self, name: str) -> list[int]:
        """A list of ints; absent: empty."""
        value = self._fields.get(name, [])
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise self.error(f"`{name}` must be a list of whole numbers")
        return value

    def text(self, name: str) -> str | None:
        """A string or number as text; absent: None."""
        value = self._fields.get(name)
        return None if value is None else str(value)

    def records(self, name: str) -> list["Record"]:
        value = self._fields.get(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(f"`{name}` must be a list of objects")
        return [Record(self._path, self._line, item) for item in value]
