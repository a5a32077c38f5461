"""A recording reads like any trace."""

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard_simulator.load.errors import TraceError
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.trace import Trace

HEAD = {"steelyard_record": 1, "started_unix_ms": 0}
END = {"steelyard_end": {"reason": "time", "requests": 2, "dropped": 0, "unfinished": 0}}


def row(timestamp: float, **changes: Any) -> dict[str, Any]:
    return {
        "timestamp": timestamp, "input_length": 200, "output_length": 5, "hash_ids": [0, 1, 2],
        "block_tokens": 64.0, "workload": "chat", "result": "ok", **changes,
    }  # fmt: skip


def read(tmp_path: Path, *lines: dict[str, Any]) -> Trace:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    return read_trace(path)


def test_requests_stand_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    trace = read(tmp_path, HEAD, row(900.0), row(100.5, hash_ids=[0, 7]), END)

    assert trace.schema == "recorded"
    assert [request.at_s for request in trace.requests] == [0.1005, 0.9]
    assert list(trace.requests[0].block_ids()) == [0, 7]
    assert {request.workload for request in trace.requests} == {"chat"}


def test_a_recording_that_was_cut_off_reads_too(tmp_path: Path) -> None:
    assert len(read(tmp_path, HEAD, row(1.0)).requests) == 1


@pytest.mark.parametrize(
    ("result", "kept"),
    [("ok", 1), ("client_gone", 1), ("overloaded", 0), ("upstream_error", 0), ("timeout", 0)],
)
def test_what_no_engine_answered_is_left_out(tmp_path: Path, result: str, kept: int) -> None:
    trace = read(tmp_path, HEAD, row(1.0), row(2.0, result=result))

    assert len(trace.requests) == 1 + kept


def test_a_block_has_as_many_tokens_as_in_the_middle_of_all(tmp_path: Path) -> None:
    early = row(1.0, block_tokens=64.0, hash_ids=[0])
    trace = read(tmp_path, HEAD, early, row(2.0, block_tokens=58.4), row(3.0, block_tokens=58.3))

    assert trace.block_tokens == 58


def test_a_prompt_has_no_more_blocks_than_its_tokens_fill(tmp_path: Path) -> None:
    (request,) = read(tmp_path, HEAD, row(1.0, input_length=100)).requests

    assert list(request.block_ids()) == [0, 1]


def test_a_client_thinks_from_the_answer_to_its_next_question(tmp_path: Path) -> None:
    turns = [
        row(1000.0, session_id="s", e2e_ms=400.0),
        row(9000.0),
        row(3000.0, session_id="s", e2e_ms=100.0),
    ]

    first, second, other = read(tmp_path, HEAD, *turns).requests

    assert (first.follows, second.follows, other.follows) == (None, 0, None)
    assert second.think_s == pytest.approx(1.6)


def test_another_version_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="has version 2, this program reads 1"):
        read(tmp_path, {"steelyard_record": 2}, row(1.0))
