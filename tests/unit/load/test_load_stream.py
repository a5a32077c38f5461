"""A stream is followed by counting, and judged by its last events."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.load.stream import Ending, StreamScan

TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"cat "},"finish_reason":null}]}\n\n'
DONE = b"data: [DONE]\n\n"


def event(value: object) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def usage(prompt: int, output: int, cached: int | None) -> bytes:
    details = None if cached is None else {"cached_tokens": cached}
    return event(
        {
            "choices": [],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": output,
                "prompt_tokens_details": details,
            },
        }
    )


def scan_of(*chunks: bytes) -> StreamScan:
    scan = StreamScan()
    for chunk in chunks:
        scan.feed(chunk)
    return scan


def test_usage_in_the_last_event_tells_the_token_counts() -> None:
    scan = scan_of(TOKEN * 3, usage(100, 3, 64), DONE)

    assert scan.ending() == Ending(prompt_tokens=100, output_tokens=3, cached_tokens=64)


def test_a_server_that_reports_no_cached_tokens_leaves_them_unknown() -> None:
    assert scan_of(usage(100, 3, None) + DONE).ending().cached_tokens is None


@given(st.integers(0, 60), st.integers(1, 40))
def test_events_are_counted_however_the_bytes_are_cut(tokens: int, size: int) -> None:
    body = TOKEN * tokens + usage(10, tokens, 0) + DONE

    scan = scan_of(*(body[start : start + size] for start in range(0, len(body), size)))

    assert scan.events == tokens + 2
    assert scan.ending().output_tokens == tokens


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (TOKEN, "broke off before [DONE]"),
        (TOKEN + usage(1, 1, 0), "broke off before [DONE]"),
        (b"", "broke off before [DONE]"),
        (TOKEN + event({"error": {"message": "out of memory"}}) + DONE, "in-stream: out of memory"),
        (event({"choices": [{"finish_reason": "abort"}]}) + DONE, "finish_reason abort"),
    ],
)
def test_a_stream_that_ends_badly_is_an_error(body: bytes, error: str) -> None:
    assert error in str(scan_of(body).ending().error)


def test_text_that_looks_like_the_end_is_no_end() -> None:
    text = event({"choices": [{"delta": {"content": "data: [DONE]"}}]})

    assert scan_of(text).ending().error is not None


def test_only_a_bounded_tail_of_a_long_stream_is_kept() -> None:
    scan = scan_of(*[TOKEN * 100] * 200, usage(5, 20_000, 0), DONE)

    assert scan.events == 20_002
    assert scan.ending().output_tokens == 20_000
