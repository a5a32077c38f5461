"""What a recording tells of requests, what it never tells, and what it may hold."""

import json
from typing import Any

from support.observed import served

from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.config import Debug, RouterConfig
from steelyard_router.observability.outcome import Asked
from steelyard_router.observability.recorder import REQUEST_BYTES, Bounds, Reading, Recorder

CHAT = "/v1/chat/completions"
SECRET = "the launch code is 0000, tell nobody. " * 30


def asked(text: str = SECRET, *, at_s: float = 5.0, session: str | None = None) -> Asked:
    analyzer = Analyzer(RouterConfig(), TokenRatio(), OutputHistory())
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    headers = {} if session is None else {"x-session-id": session}
    return Asked(at_s, analyzer.analyze(CHAT, headers, body).view)


def line(reading: Reading, given: Asked, **changes: Any) -> dict[str, Any]:
    reading.open += 1
    assert reading.offer(served(**changes), given)
    row: dict[str, Any] = json.loads(reading.take())
    return row


def ids(reading: Reading, text: str) -> list[int]:
    found: list[int] = line(reading, asked(text))["hash_ids"]
    return found


def test_a_line_tells_sizes_times_and_results() -> None:
    reading = Recorder().begin("r", now=2.0, seconds=60)

    row = line(reading, asked(session="alice"), output_tokens=7, result="client_gone")

    given = asked()
    assert row["timestamp"] == 3000.0
    assert (row["input_length"], row["output_length"], row["cached_tokens"]) == (1000, 7, 500)
    assert (row["ttft_ms"], row["e2e_ms"], row["streamed"]) == (200.0, 2200.0, True)
    assert (row["workload"], row["result"], row["block_tokens"]) == ("chat", "client_gone", 64.0)
    assert len(row["hash_ids"]) == given.view.block_count > 3
    assert len(row["session_id"]) == 16


def test_neither_text_nor_names_nor_hashes_that_could_be_looked_up_are_told() -> None:
    reading, given = Recorder().begin("r", now=2.0, seconds=60), asked(session="alice")

    row = line(reading, given)

    known = {
        int.from_bytes(given.view.blocks[i : i + 8], "little") >> cut
        for i in range(0, len(given.view.blocks), 8)
        for cut in (0, 11)
    }
    assert not known & set(row["hash_ids"])
    assert not [word for word in ("launch", "alice") if word in json.dumps(row)]


def test_equal_beginnings_are_equal_within_a_recording_only() -> None:
    recorder, other = Recorder(salt=b"s" * 16), Recorder()
    reading = recorder.begin("a", now=0.0, seconds=60)
    first = ids(reading, "x" * 2000 + "y" * 600)
    second = ids(reading, "x" * 2000 + "z" * 600)

    shared = sum(a == b for a, b in zip(first, second, strict=True))

    assert 0 < shared < len(first)
    assert first[:shared] == second[:shared]
    for elsewhere in (recorder.begin("b", 0.0, 60), other.begin("a", 0.0, 60)):
        assert not set(first) & set(ids(elsewhere, "x" * 2000 + "y" * 600))


def test_replicas_that_share_a_salt_tell_the_same_of_one_prompt() -> None:
    one, two = (Recorder(salt=b"s" * 16).begin("a", now=0.0, seconds=60) for _ in range(2))

    assert ids(one, SECRET) == ids(two, SECRET)


def test_what_has_no_room_is_dropped_and_counted() -> None:
    recorder = Recorder(bounds=Bounds(requests=3))
    reading, given = recorder.begin("a", now=0.0, seconds=60), asked()
    for _ in range(5):
        recorder.ended(served(), given)

    assert (reading.waiting, reading.dropped) == (3, 2)
    assert (recorder.recorded, recorder.dropped) == (3, 2)
    reading.take()
    assert reading.offer(served(), given)


def test_long_prompts_fill_the_room_sooner() -> None:
    given = asked(SECRET * 50)
    size = REQUEST_BYTES + len(given.view.blocks)
    reading = Recorder(bounds=Bounds(bytes=2 * size)).begin("a", now=0.0, seconds=60)

    assert [reading.offer(served(), given) for _ in range(3)] == [True, True, False]
    reading.take()
    assert reading.offer(served(), given)


def test_a_recording_has_what_came_in_during_its_time() -> None:
    recorder = Recorder()
    reading = recorder.begin("a", now=10.0, seconds=5)
    for at_s in (9.0, 12.0, 15.5):
        recorder.ended(served(), asked(at_s=at_s))

    assert reading.waiting == 1
    assert json.loads(reading.take())["timestamp"] == 2000.0


def test_it_is_allowed_by_the_configuration_or_for_good() -> None:
    by_file, always = Recorder(), Recorder(always=True)

    assert (by_file.allowed, always.allowed) == (False, True)
    for recorder in (by_file, always):
        recorder.update(Debug(record=True))
        assert recorder.allowed
        recorder.update(Debug())
    assert (by_file.allowed, always.allowed) == (False, True)
