"""The file of a recording: numbered, bounded, readable at any time."""

import gzip
import json
from pathlib import Path
from typing import Any

from steelyard_simulator.recording.trace_file import END_BYTES, TraceFile


def row(timestamp: float, *blocks: int) -> dict[str, Any]:
    return {"timestamp": timestamp, "input_length": 5, "hash_ids": list(blocks)}


def lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in data.splitlines()]


def test_blocks_are_numbered_as_they_appear(tmp_path: Path) -> None:
    path = tmp_path / "new" / "t.jsonl"
    file = TraceFile(path, max_bytes=10_000)
    file.begin(1000)
    file.add(row(1.0, 77, 55), 1000)
    file.add(row(2.0, 77, 99), 1000)
    file.end("time", dropped=3)

    head, first, second, end = lines(path)
    assert head == {"steelyard_record": 1, "started_unix_ms": 1000}
    assert (first["hash_ids"], second["hash_ids"]) == ([0, 1], [0, 2])
    assert end == {"steelyard_end": {"reason": "time", "requests": 2, "dropped": 3}}


def test_routers_that_began_later_are_put_on_one_clock(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    file = TraceFile(path, max_bytes=10_000)
    for started in (1000, 1250):
        file.begin(started)
        file.add(row(10.0), started)
    file.end("time")

    assert [line["timestamp"] for line in lines(path)[1:-1]] == [10.0, 260.0]


def test_a_full_file_says_so_and_still_takes_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    file = TraceFile(path, max_bytes=1000 + END_BYTES)
    file.begin(0)
    while file.add(row(1.0, *range(20)), 0):
        pass
    file.end("bytes")

    assert file.requests > 3
    assert path.stat().st_size <= 1000 + END_BYTES
    assert lines(path)[-1]["steelyard_end"]["requests"] == file.requests


def test_the_oldest_block_is_forgotten_when_there_are_too_many(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    file = TraceFile(path, max_bytes=10_000, most_ids=2)
    file.begin(0)
    file.add(row(1.0, 11, 22, 33), 0)
    file.add(row(2.0, 33, 11), 0)
    file.end("time")

    assert [line["hash_ids"] for line in lines(path)[1:-1]] == [[0, 1, 2], [2, 3]]


def test_what_never_began_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("older")

    TraceFile(path, max_bytes=10_000).end("interrupted")

    assert path.read_text() == "older"
