"""What the dummy engine reads and answers."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from steelyard_bench.wire import reply


def _wish(**fields: object) -> reply.Wish:
    wish = reply.wish(orjson.dumps({"messages": [], **fields}))
    assert wish is not None
    return wish


def test_both_names_of_the_output_limit_are_read() -> None:
    assert _wish(max_tokens=3).tokens == 3
    assert _wish(max_completion_tokens=4).tokens == 4
    assert _wish(max_completion_tokens=4, max_tokens=9).tokens == 4
    assert _wish().tokens == reply.DEFAULT_TOKENS


def test_the_pace_is_read_from_where_it_is_written() -> None:
    assert _wish(**reply.pace_field(20.0)).pace_s == 0.02
    assert _wish(stop=["END"]).pace_s == 0.0
    assert _wish(stop="pace").pace_s == 0.0


def test_a_body_that_is_no_object_is_no_wish() -> None:
    assert reply.wish(b"{") is None
    assert reply.wish(b"[1]") is None


@given(st.integers(1, 200), st.booleans())
def test_a_stream_has_an_event_per_token_and_a_proper_end(tokens: int, usage: bool) -> None:
    head, _, body = reply.stream(7, tokens, usage=usage).partition(b"\r\n\r\n")

    assert b"transfer-encoding: chunked" in head
    events = [line for line in body.split(b"\r\n") if line.startswith(b"data: ")]
    assert len(events) == tokens + usage + 1
    assert events[-1] == b"data: [DONE]\n\n"
    assert sum(b'"finish_reason":"length"' in event for event in events) == 1
    assert body.endswith(b"\r\n0\r\n\r\n")
    if usage:
        told = orjson.loads(events[-2].removeprefix(b"data: "))["usage"]
        assert told == {
            "prompt_tokens": 7,
            "completion_tokens": tokens,
            "total_tokens": tokens + 7,
        }


def test_a_plain_answer_says_how_many_tokens_it_has() -> None:
    _, _, body = reply.completion(7, 3).partition(b"\r\n\r\n")

    assert orjson.loads(body)["usage"]["completion_tokens"] == 3


@given(st.binary(min_size=8, max_size=64), st.binary(max_size=64), st.binary(max_size=64))
def test_equal_beginnings_have_equal_token_ids(shared: bytes, one: bytes, other: bytes) -> None:
    first, second = (
        orjson.loads(reply.rendered(shared + rest).partition(b"\r\n\r\n")[2])["token_ids"]
        for rest in (one, other)
    )

    same = len(shared) // reply.BYTES_PER_TOKEN
    assert first[:same] == second[:same]
