"""CSV traces: times and lengths only, so every prompt is unique.

Azure's has the columns TIMESTAMP, ContextTokens, GeneratedTokens; ServeGen's has timestamp_ms,
input_length, output_length and more that is not used.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from steelyard_simulator.load.errors import TraceError
from steelyard_simulator.load.trace import Trace, TraceRequest

MICROSECOND_DIGITS = 26
"""Length of `2023-11-16 18:15:46.680590`; Azure writes one digit more than datetime reads."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where one schema keeps its three values, and how its times are written."""

    schema: str
    time: str
    input: str
    output: str
    seconds: Callable[[str], float]


def _azure_seconds(text: str) -> float:
    moment = datetime.fromisoformat(text[:MICROSECOND_DIGITS]).replace(tzinfo=UTC)
    return moment.timestamp() + float(f"0.000000{text[MICROSECOND_DIGITS:] or 0}")


def _milliseconds(text: str) -> float:
    return float(text) / 1000


SCHEMAS = (
    Columns("Azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens", _azure_seconds),
    Columns("ServeGen", "timestamp_ms", "input_length", "output_length", _milliseconds),
)
HEADERS = " or ".join(f"{c.time},{c.input},{c.output}" for c in SCHEMAS)


def parser_for(header: str) -> Callable[[Path, Sequence[str], int], Trace] | None:
    """The parser of the schema whose columns the header line has; None: no known schema."""
    names = set(header.strip().split(","))
    for columns in SCHEMAS:
        if {columns.time, columns.input, columns.output} <= names:
            return partial(_parse, columns)
    return None


def _parse(columns: Columns, path: Path, lines: Sequence[str], block_tokens: int) -> Trace:
    requests = tuple(_rows(path, lines, columns))
    start_s = min((request.at_s for request in requests), default=0.0)
    return Trace(
        path=path,
        schema=columns.schema,
        requests=tuple(replace(request, at_s=request.at_s - start_s) for request in requests),
        block_tokens=block_tokens,
    )


def _rows(path: Path, lines: Sequence[str], columns: Columns) -> Iterator[TraceRequest]:
    rows = csv.DictReader(lines)
    for row in rows:
        try:
            yield TraceRequest(
                at_s=columns.seconds(row[columns.time]),
                input_tokens=_count(row[columns.input]),
                output_tokens=_count(row[columns.output]),
            )
        except (ValueError, TypeError) as exc:
            raise TraceError(path, f"cannot be read ({exc})", line=rows.line_num) from exc


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(f"a length of {value} tokens")
    return value
