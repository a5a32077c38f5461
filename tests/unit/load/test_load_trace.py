"""Traces of every schema become the same kind of request, and bad ones say where they are bad."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.load.errors import TraceError
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.trace import append_range, take, to_ranges

MOONCAKE = [
    {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [0, 1]},
    {"timestamp": 2999, "input_length": 1600, "output_length": 7, "hash_ids": [0, 1, 2, 9]},
]


def write_lines(path: Path, *lines: object) -> Path:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text + "\n")
    return path


def test_a_mooncake_line_gives_its_times_lengths_and_block_ids(tmp_path: Path) -> None:
    trace = read_trace(write_lines(tmp_path / "t.jsonl", *MOONCAKE))

    second = trace.requests[1]
    assert trace.schema == "Mooncake"
    assert (second.at_s, second.input_tokens, second.output_tokens) == (2.999, 1600, 7)
    assert list(second.block_ids()) == [0, 1, 2, 9]
    assert second.follows is None


def test_a_gzipped_trace_reads_like_a_plain_one_whatever_its_name(tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "t.jsonl", *MOONCAKE)
    zipped = tmp_path / "t.bin"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))

    assert read_trace(zipped).requests == read_trace(plain).requests


def test_a_request_belongs_to_the_workload_that_its_line_names(tmp_path: Path) -> None:
    named = {**MOONCAKE[0], "workload": "chat"}

    trace = read_trace(write_lines(tmp_path / "t.jsonl", named, MOONCAKE[1]))

    assert [request.workload for request in trace.requests] == ["chat", "default"]


def test_only_times_that_are_all_near_multiples_of_three_seconds_count_as_rounded(
    tmp_path: Path,
) -> None:
    exact = [*MOONCAKE, {"timestamp": 3400, "input_length": 5, "output_length": 1, "hash_ids": []}]

    assert read_trace(write_lines(tmp_path / "a.jsonl", *MOONCAKE)).bucket_s == 3.0
    assert read_trace(write_lines(tmp_path / "b.jsonl", *exact)).bucket_s is None


def test_requests_of_one_session_id_follow_each_other_after_the_gap_between_them(
    tmp_path: Path,
) -> None:
    lines = [
        {"timestamp": t, "input_length": 10, "output_length": 1, "hash_ids": [0], "session_id": s}
        for t, s in ((0, 7), (100, 8), (2500, 7))
    ]

    requests = read_trace(write_lines(tmp_path / "t.jsonl", *lines)).requests

    assert [request.follows for request in requests] == [None, None, 0]
    assert requests[2].think_s == 2.5
    assert requests[2].session == "7"


def test_an_azure_row_has_a_time_from_the_first_row_and_no_block_ids(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "t.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens",
        "2023-11-16 18:15:46.6805900,374,44",
        "2023-11-16 18:16:50.9951695,396,109",
    )

    trace = read_trace(path)

    assert trace.schema == "Azure"
    assert trace.requests[1].at_s == pytest.approx(64.3145795, abs=1e-6)
    assert (trace.requests[1].input_tokens, trace.requests[1].output_tokens) == (396, 109)
    assert trace.requests[1].blocks == ()


def test_a_servegen_row_has_its_time_in_milliseconds(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "t.csv",
        "timestamp_ms,input_length,output_length,client,reason_ratio",
        "0,256,311,37,0.842",
        "1500,9,3,54,0.475",
    )

    assert [request.at_s for request in read_trace(path).requests] == [0.0, 1.5]


def session_line(**more: object) -> dict[str, object]:
    reqs = [
        {"t": 0.0, "th": 0, "in": 200, "out": 9, "k": 0, "h": [1, 3], "api": 2.0, "think": 0.0},
        {"t": 5.0, "th": 1, "in": 70, "out": 9, "k": 0, "h": [50, 1], "api": 1.0},
        {"t": 20.0, "th": 0, "in": 330, "out": 9, "k": 2, "h": [4, 2, 8, 1], "think": 12.0},
        {"t": 30.0, "th": 0, "in": 330, "out": 9, "k": 5, "h": [], "api": 1.0},
    ]
    return {"sid": "s", "block": 64, "reqs": reqs, **more}


def test_a_session_request_keeps_the_head_of_the_one_before_in_its_thread(tmp_path: Path) -> None:
    trace = read_trace(write_lines(tmp_path / "t.jsonl", session_line()))

    assert (trace.block_tokens, trace.closed_loop) == (64, True)
    assert [list(request.block_ids()) for request in trace.requests] == [
        [1, 2, 3],
        [50],
        [1, 2, 4, 5, 8],
        [1, 2, 4, 5, 8],
    ]


def test_a_session_waits_within_its_thread_and_a_sub_agent_for_the_main_thread(
    tmp_path: Path,
) -> None:
    requests = read_trace(write_lines(tmp_path / "t.jsonl", session_line())).requests

    assert [request.follows for request in requests] == [None, 0, 0, 2]
    # Recorded pause; gap since the main thread's reply; recorded pause; gap since the start.
    assert [request.think_s for request in requests] == [0.0, 3.0, 12.0, 10.0]


def test_block_ids_of_two_sessions_do_not_mean_the_same_text(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", session_line(sid="a"), session_line(sid="b"))

    requests = read_trace(path).requests

    assert requests[0].blocks == requests[4].blocks
    assert requests[0].scope != requests[4].scope
    assert requests[4].follows is None


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", None, "is empty"),
        (b"hello\n", 1, "none of the known schemas"),
        (b"\xff\xfe\x00", None, "not text"),
        (b"\x1f\x8b rest", None, "not a whole gzip file"),
        (gzip.compress(b'{"timestamp": 0}' * 50)[:-9], None, "not a whole gzip file"),
        (b'{"timestamp": 0,\n', 1, "not JSON"),
        (b'{"timestamp": 0, "input_length": 9, "output_length": 1}\n[]\n', 2, "not a JSON object"),
        (b'{"timestamp": "x", "input_length": 9, "output_length": 1}', 1, "`timestamp` must be a"),
        (b'{"timestamp": 0, "input_length": -9, "output_length": 1}', 1, "`input_length` must be"),
        (b'{"timestamp": 0, "input_length": true, "output_length": 1}', 1, "`input_length` must"),
        (b'{"timestamp": 0, "input_length": 9}', 1, "`output_length` must be"),
        (
            b'{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1.5]}',
            1,
            "`hash_ids` must be a list of whole numbers",
        ),
        (
            b'{"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1, 2]}',
            1,
            "is the block size another?",
        ),
        (b"TIMESTAMP,ContextTokens,GeneratedTokens\n", None, "holds no requests"),
        (b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16,1,x\n", 2, "cannot be read"),
        (b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16,1\n", 2, "cannot be read"),
        (b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16,1,-2\n", 2, "cannot be read"),
        (b'{"sid": "s", "block": 64, "reqs": [3]}', 1, "`reqs` must be a list of objects"),
        (b'{"block": 0, "reqs": []}', 1, "`block` is 0"),
        (b'{"reqs": [{"t": 0, "in": 600, "out": 1, "k": 0, "h": [1]}]}', 1, "pairs"),
        (b'{"reqs": [{"t": 0, "in": 60, "out": 1, "k": 0, "h": [1, 2]}]}', 1, "more blocks"),
    ],
)
def test_a_bad_trace_is_refused_with_path_line_and_reason(
    tmp_path: Path, content: bytes, line: int | None, reason: str
) -> None:
    path = tmp_path / "bad.trace"
    path.write_bytes(content)

    with pytest.raises(TraceError, match=r"bad\.trace") as caught:
        read_trace(path)

    assert caught.value.line == line
    assert reason in str(caught.value)


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.jsonl: cannot be read \(No such file"):
        read_trace(tmp_path / "none.jsonl")


ids = st.lists(st.integers(min_value=0, max_value=30), max_size=40)


@given(ids)
def test_ranges_hold_exactly_the_ids_they_were_made_from(values: list[int]) -> None:
    assert [value for run in to_ranges(values) for value in run] == values


@given(ids, st.integers(min_value=0, max_value=50), st.integers(0, 30), st.integers(0, 5))
def test_taking_a_head_and_appending_a_run_is_what_it_is_for_lists(
    values: list[int], count: int, start: int, length: int
) -> None:
    runs = append_range(take(to_ranges(values), count), range(start, start + length))

    expected = values[:count] + list(range(start, start + length))
    assert [value for run in runs for value in run] == expected
