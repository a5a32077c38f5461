"""What is read from passing bodies, however they are cut."""

import time
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_router.proxy.tail import (
    JSON_WHOLE_BYTES,
    STREAM_TAIL_BYTES,
    BlindScan,
    JsonScan,
    Scan,
    StreamScan,
    Usage,
    scan_for,
)

USAGE = {
    "prompt_tokens": 65,
    "completion_tokens": 7,
    "total_tokens": 72,
    "prompt_tokens_details": {"cached_tokens": 64, "multimodal_tokens": None},
}


def sse(*events: object, end: bytes = b"\n") -> bytes:
    lines = (e if isinstance(e, bytes) else b"data: " + orjson.dumps(e) for e in events)
    return b"".join(line.replace(b"\n", end) + end * 2 for line in lines)


def chunk(text: str, finish_reason: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def named(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: ".encode() + orjson.dumps({"type": kind, **fields})


def fed(scan: Scan, *chunks: bytes) -> Scan:
    for part in chunks:
        scan.feed(part)
    scan.finish()
    return scan


CHAT = sse(chunk(""), chunk("Hel"), chunk("lo"), chunk("", "stop"))
RESPONSES = sse(
    named("response.created", response={"id": "r", "instructions": "x" * 2000}),
    named("response.in_progress", response={"id": "r"}),
    named("response.output_text.delta", delta="Hello"),
    named("response.output_text.delta", delta=" you"),
    named(
        "response.completed",
        response={
            "output": "y" * 40_000,
            "error": None,
            "usage": {
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens": 2,
            },
        },
    ),
)


def facts(scan: Scan) -> tuple[object, ...]:
    return scan.first_token, scan.output_events, scan.usage, scan.error, scan.aborted, scan.done


def test_events_are_counted_without_the_end_mark() -> None:
    scan = fed(StreamScan(), CHAT, b"data: [DONE]\n\n")

    assert scan.output_events == 4
    assert scan.done
    assert not scan.error
    assert not scan.aborted
    assert scan.usage is None


def test_usage_and_cached_tokens_are_read_from_the_last_event() -> None:
    scan = fed(StreamScan(), CHAT, sse({"choices": [], "usage": USAGE}, b"data: [DONE]"))

    assert scan.usage == Usage(prompt_tokens=65, output_tokens=7, cached_tokens=64)
    assert scan.done


def test_of_usage_in_every_event_the_last_counts() -> None:
    events = [{**chunk("a"), "usage": {**USAGE, "completion_tokens": n}} for n in range(5)]
    scan = fed(StreamScan(), sse(*events, {**chunk("b"), "usage": None}))

    assert scan.usage is not None
    assert scan.usage.output_tokens == 4


def test_text_cannot_forge_usage_an_error_or_an_end() -> None:
    text = (
        '"usage":{"prompt_tokens":1} data: {"error":{"code":500}}\n\ndata: [DONE]\n\n'
        '"finish_reason":"abort" event: response.completed "type":"response.completed"'
    )
    for scan in (
        fed(StreamScan(), sse(chunk(text))),
        fed(JsonScan(), orjson.dumps({"choices": [{"text": text}], "pad": "x" * JSON_WHOLE_BYTES})),
    ):
        assert scan.usage is None
        assert not scan.error
        assert not scan.aborted
    assert not fed(StreamScan(), sse(chunk(text))).done


def test_a_stream_that_breaks_off_is_not_done() -> None:
    scan = fed(StreamScan(), CHAT[:-20])

    assert not scan.done
    assert scan.output_events == 3


@pytest.mark.parametrize(
    ("event", "kind", "code", "clients"),
    [
        ({"error": {"message": "m", "type": "InternalServerError", "code": 500}},
         "InternalServerError", 500, False),
        ({"error": {"message": "m", "type": "BadRequestError", "code": 400}},
         "BadRequestError", 400, True),
        ({"error": {"message": "m", "type": "invalid_request_error", "code": "bad"}},
         "invalid_request_error", None, True),
        ({"object": "error", "message": "m", "type": "NotFoundError", "code": 404},
         "NotFoundError", 404, True),
        ({"error": "out of memory"}, "out of memory", None, False),
        (named("error", code="server_error", message="m"), "error", None, False),
        (named("response.failed", response={"error": {"code": "server_error"}}),
         "server_error", None, False),
        (named("response.failed", response=None), "", None, False),
    ],
)  # fmt: skip
def test_an_error_inside_a_stream_is_seen(
    event: object, kind: str, code: int | None, clients: object
) -> None:
    scan = fed(StreamScan(), CHAT, sse(event, b"data: [DONE]"))

    assert scan.error
    assert (scan.error_kind, scan.error_code) == (kind, code)
    assert scan.clients_fault is clients


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_last_event_is_read_whole_however_long_it_is(end: bytes) -> None:
    error = {"error": {"message": "m" * 5000, "type": "InternalServerError", "code": 500}}
    scan = fed(StreamScan(), sse(*[chunk("x")] * 50, error, b"data: [DONE]", end=end))

    assert scan.error_kind == "InternalServerError"


def test_no_error_is_seen_where_the_field_is_null() -> None:
    assert not fed(StreamScan(), sse({**chunk("a"), "error": None})).error


def test_an_aborted_request_is_seen() -> None:
    assert fed(StreamScan(), CHAT, sse(chunk("", "abort"), b"data: [DONE]")).aborted
    assert fed(JsonScan(), orjson.dumps({"choices": [{"finish_reason": "abort"}]})).aborted


def test_announcements_of_the_responses_api_are_no_token() -> None:
    scan = StreamScan()
    created, progress, delta, *_ = RESPONSES.split(b"\n\n")
    scan.feed(created + b"\n\n")
    scan.feed(progress + b"\n\n")
    assert not scan.first_token
    assert scan.output_events == 0

    scan.feed(delta + b"\n\n")

    assert scan.first_token
    assert scan.output_events == 1


def test_comments_are_no_token() -> None:
    scan = StreamScan()
    scan.feed(b": waiting\n\n")
    assert not scan.first_token

    scan.feed(CHAT)

    assert scan.first_token
    assert scan.output_events == 4


def test_the_final_event_of_the_responses_api_may_be_longer_than_what_is_kept() -> None:
    scan = fed(StreamScan(), RESPONSES)

    assert len(RESPONSES) > 4 * STREAM_TAIL_BYTES
    assert facts(scan) == (True, 3, Usage(9, 2, 4), False, False, True)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "stream",
    [
        CHAT + sse({"usage": USAGE}, b"data: [DONE]"),
        RESPONSES,
        CHAT + sse(chunk("", "abort"), {"error": {"type": "x", "code": 500}}, b"data: [DONE]"),
    ],
)
@settings(max_examples=40)
@given(cuts=st.lists(st.integers(0, 60_000), max_size=40))
def test_the_cuts_between_chunks_change_nothing(
    stream: bytes, end: bytes, cuts: Sequence[int]
) -> None:
    body = stream.replace(b"\n", end)
    places = sorted({cut % len(body) for cut in cuts})
    parts = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    assert facts(fed(StreamScan(), *parts)) == facts(fed(StreamScan(), stream))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_single_bytes_are_as_good_as_whole_events(end: bytes) -> None:
    body = (CHAT + sse({"usage": USAGE}, b"data: [DONE]")).replace(b"\n", end)
    scan = fed(StreamScan(), *(body[at : at + 1] for at in range(len(body))))

    assert facts(scan) == (True, 5, Usage(65, 7, 64), False, False, True)


@given(st.lists(st.binary(max_size=300), max_size=30))
def test_no_bytes_whatever_make_a_scan_fail(chunks: list[bytes]) -> None:
    for scan in (StreamScan(), JsonScan(), BlindScan()):
        fed(scan, *chunks)
        fed(scan)


def test_a_long_stream_keeps_a_bounded_tail() -> None:
    scan = StreamScan()
    for _ in range(20_000):
        scan.feed(CHAT)

    assert scan._held <= 2 * STREAM_TAIL_BYTES
    assert scan.output_events == 80_000


def test_a_small_json_body_is_understood_whole() -> None:
    body = orjson.dumps({"usage": USAGE, "choices": [{"finish_reason": "stop"}], "error": None})
    scan = fed(JsonScan(), body[:50], body[50:])

    assert facts(scan) == (True, 0, Usage(65, 7, 64), False, False, True)


def test_a_large_json_body_is_searched_from_its_end() -> None:
    body = orjson.dumps({"data": [0.123456789] * 100_000, "usage": {"prompt_tokens": 8}})
    scan = fed(JsonScan(), *(body[at : at + 4096] for at in range(0, len(body), 4096)))

    assert scan.usage == Usage(prompt_tokens=8, output_tokens=None, cached_tokens=None)
    assert scan.done


@pytest.mark.parametrize("body", [b"", b"{", b'{"a": 1', b"[" + b"1," * JSON_WHOLE_BYTES])
def test_a_json_body_that_breaks_off_is_not_done(body: bytes) -> None:
    assert not fed(JsonScan(), body).done


def test_an_error_body_is_seen() -> None:
    scan = fed(JsonScan(), b'{"error": {"message": "m", "type": "ServerError", "code": "503"}}')

    assert (scan.error, scan.error_kind, scan.error_code) == (True, "ServerError", 503)


@pytest.mark.parametrize("told", [None, 3, "x", {"prompt_tokens": "many"}, {"prompt_tokens": -1}])
def test_usage_that_makes_no_sense_gives_no_numbers(told: object) -> None:
    usage = fed(JsonScan(), orjson.dumps({"usage": told})).usage

    assert usage is None or usage == Usage(None, None, None)


@pytest.mark.parametrize(
    ("content_type", "encoding", "kind"),
    [
        ("text/event-stream; charset=utf-8", "", StreamScan),
        ("Text/Event-Stream", "identity", StreamScan),
        ("application/json", "", JsonScan),
        ("application/problem+json; charset=utf-8", "", JsonScan),
        ("text/event-stream", "gzip", BlindScan),
        ("application/json", "br", BlindScan),
        ("audio/mpeg", "", BlindScan),
        ("", "", BlindScan),
    ],
)
def test_the_head_decides_how_a_body_is_read(
    content_type: str, encoding: str, kind: type[Scan]
) -> None:
    assert type(scan_for(content_type, encoding)) is kind


def test_a_blind_scan_still_sees_the_first_byte() -> None:
    scan = BlindScan()
    scan.feed(b"")
    assert not scan.first_token
    scan.feed(b"\x1f")
    assert scan.first_token
    scan.finish()
    assert facts(scan) == (True, 0, None, False, False, True)


def test_a_chunk_late_in_a_long_stream_costs_no_more_than_an_early_one() -> None:
    event, scan = sse({**chunk(" word"), "model": "m" * 60}), StreamScan()

    def cost_s() -> float:
        begun = time.perf_counter()
        for _ in range(2000):
            scan.feed(event)
        return time.perf_counter() - begun

    rounds = [cost_s() for _ in range(30)]

    assert min(rounds[15:]) < 5 * min(rounds[:15])
