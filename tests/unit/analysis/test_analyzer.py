from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_router.analysis.analyzer import Analysis, Analyzer
from steelyard_router.analysis.endpoint import ENDPOINTS
from steelyard_router.analysis.history import PRIOR_TOKENS, OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.config import (
    ClientHints,
    Match,
    Policy,
    RouterConfig,
    Service,
    Targets,
    Workload,
)
from steelyard_router.errors import BadRequest
from steelyard_router.scheduling.request import SLO

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "tell me about steelyards " * 40}]
POLICY = Policy(
    workloads=(
        Workload(name="long", match=Match(prompt_tokens_min=5000)),
        Workload(name="chat", default=True, priority=3, slo=Targets(ttft_ms=500)),
    )
)


def analyzer(hints: ClientHints = ClientHints.LOWER_ONLY) -> Analyzer:
    config = RouterConfig(policy=POLICY, service=Service(client_hints=hints))
    return Analyzer(config, TokenRatio(), OutputHistory())


def analyze(path: str = CHAT, headers: dict[str, str] | None = None, **body: object) -> Analysis:
    return analyzer().analyze(path, headers or {}, orjson.dumps(body), tenant="acme")


def test_a_chat_request_is_read_whole() -> None:
    seen = analyze(
        headers={"x-session-id": "s1", "x-slo-ttft-ms": "700", "x-steelyard-priority": "1"},
        model="m",
        messages=MESSAGES,
        stream=True,
        stream_options={"include_usage": True},
        max_completion_tokens=50,
        max_tokens=90,
        n=3,
    )

    view = seen.view
    assert seen.model == "m"
    assert seen.workload.name == view.workload == "chat"
    assert view.prompt_tokens == round(seen.text_bytes / 4)
    assert view.block_count == seen.text_bytes // 256 > 0
    assert view.block_tokens == 64
    assert (view.sequences, view.expected_output_tokens) == (3, 50)
    assert (view.slo, view.priority) == (SLO(ttft_s=0.7), 1)
    assert (view.session, view.tenant) == ("s1", "acme")
    assert seen.streams
    assert view.streams
    assert seen.generates
    assert seen.client_usage
    assert seen.expects_usage


def test_the_next_turn_shares_all_blocks_of_the_last() -> None:
    answer = [{"role": "assistant", "content": "gladly"}, {"role": "user", "content": "more"}]

    before = analyze(model="m", messages=MESSAGES).view.blocks
    after = analyze(model="m", messages=MESSAGES + answer).view.blocks

    assert len(before) > 0
    assert after.startswith(before)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "adapter"},
        {"model": None},
        {"cache_salt": "tenant-7"},
        {"tools": [{"type": "function"}]},
    ],
)
def test_another_model_salt_or_tool_shares_no_block(change: dict[str, Any]) -> None:
    base = analyze(model="m", messages=MESSAGES).view.blocks
    other = analyze(**{"model": "m", "messages": MESSAGES, **change}).view.blocks

    assert base[:8] != other[:8]


def test_how_a_body_is_written_does_not_matter() -> None:
    compact = orjson.dumps({"model": "m", "messages": MESSAGES})
    spread = orjson.dumps({"messages": MESSAGES, "model": "m"}, option=orjson.OPT_INDENT_2)

    one, other = (analyzer().analyze(CHAT, {}, body).view.blocks for body in (compact, spread))

    assert one == other


@pytest.mark.parametrize(
    ("path", "body", "sequences", "generates"),
    [
        ("/v1/completions", {"prompt": ["a", "b"], "n": 2}, 4, True),
        ("/v1/completions", {"prompt": [1, 2, 3]}, 1, True),
        ("/v1/responses", {"input": "hi"}, 1, True),
        ("/v1/messages", {"messages": MESSAGES, "max_tokens": 10}, 1, True),
        ("/v1/embeddings", {"input": ["a", "b", "c"]}, 3, False),
        ("/v1/rerank", {"query": "q", "documents": ["a", "b"]}, 2, False),
        ("/v2/rerank", {"query": "q", "documents": ["a", "b"]}, 2, False),
        ("/rerank", {"query": "q", "documents": ["a", "b"]}, 2, False),
        ("/v1/score", {"text_1": "q", "text_2": ["a", "b"]}, 2, False),
        ("/score", {"text_1": "q", "text_2": "a"}, 1, False),
        ("/tokenize", {"prompt": "hi"}, 1, False),
    ],
)
def test_every_known_path_is_read(
    path: str, body: dict[str, Any], sequences: int, generates: bool
) -> None:
    seen = analyze(path, model="m", **body)

    assert path in ENDPOINTS
    assert analyzer().knows(path + "?beta=true")
    assert (seen.view.sequences, seen.generates) == (sequences, generates)
    assert seen.view.prompt_tokens >= 1


def test_token_ids_are_counted_and_sixty_four_make_a_block() -> None:
    seen = analyze("/v1/completions", model="m", prompt=list(range(640)))

    assert (seen.view.prompt_tokens, seen.view.block_count) == (640, 10)
    assert seen.view.block_tokens == 64
    assert seen.text_bytes == 0


def test_a_picture_counts_as_tokens_and_its_blocks_carry_them() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:" + "A" * 1_000_000}}
    text = {"type": "text", "text": "x" * 4000}
    seen = analyze(model="m", messages=[{"role": "user", "content": [picture, text]}])

    view = seen.view
    assert 2000 < view.prompt_tokens < 2100
    assert view.block_tokens * view.block_count == pytest.approx(view.prompt_tokens, rel=0.07)


def test_tokenize_asks_for_no_prefill() -> None:
    seen = analyze("/tokenize", model="m", messages=MESSAGES)

    assert (seen.view.prompt_tokens, seen.view.blocks) == (1, b"")


def test_what_does_not_generate_expects_one_token_and_does_not_stream() -> None:
    seen = analyze("/v1/embeddings", model="m", input="text", stream=True, max_tokens=500)

    assert seen.view.expected_output_tokens == 1
    assert not seen.streams
    assert seen.expects_usage


def test_a_stream_reports_usage_when_asked_or_when_its_api_always_does() -> None:
    unasked = analyze(messages=MESSAGES, stream=True)
    refused = analyze(messages=MESSAGES, stream=True, stream_options={"include_usage": False})
    always = analyze("/v1/responses", input="hi", stream=True)

    assert [seen.expects_usage for seen in (unasked, refused, always)] == [False, False, True]


def test_long_prompts_go_to_the_workload_for_them() -> None:
    seen = analyze("/v1/completions", prompt="x" * 20_000)

    assert seen.workload.name == "long"


def test_unknown_paths_pass_through_unread() -> None:
    seen = analyzer().analyze(
        "/v1/audio/speech", {"accept": "text/event-stream"}, b"\xff not json", tenant="acme"
    )

    assert not analyzer().knows("/v1/audio/speech")
    assert seen == analyzer().passthrough(
        "/v1/audio/speech", {"accept": "text/event-stream"}, tenant="acme"
    )
    assert (seen.view.prompt_tokens, seen.view.blocks) == (1, b"")
    assert (seen.streams, seen.generates, seen.model) == (True, False, None)
    assert seen.view.slo == SLO(ttft_s=0.5)


def test_usage_teaches_the_ratio_and_the_output_length() -> None:
    reader = analyzer()
    body = orjson.dumps({"model": "m", "messages": MESSAGES, "n": 2})
    seen = reader.analyze(CHAT, {}, body)
    for _ in range(60):
        reader.learn(seen, prompt_tokens=seen.text_bytes // 3, output_tokens=80)

    view = reader.analyze(CHAT, {}, body).view

    assert view.prompt_tokens == pytest.approx(seen.text_bytes / 3, rel=0.02)
    assert view.block_tokens == pytest.approx(256 / 3, rel=0.02)
    assert view.expected_output_tokens == 40


def test_answers_to_long_prompts_say_little_of_those_to_short_ones() -> None:
    reader = analyzer()
    short, long = (
        orjson.dumps({"messages": [{"role": "user", "content": "a word " * count}]})
        for count in (50, 2000)
    )
    for _ in range(100):
        for body, tokens in ((short, 900), (long, 10)):
            reader.learn(reader.analyze(CHAT, {}, body), prompt_tokens=None, output_tokens=tokens)

    expected = [
        reader.analyze(CHAT, {}, body).view.expected_output_tokens for body in (short, long)
    ]
    assert (expected[0] or 0) > 700
    assert (expected[1] or 900) < 200


def test_a_missing_report_and_what_does_not_generate_teach_nothing() -> None:
    reader = analyzer()
    body = orjson.dumps({"model": "m", "input": "text"})
    reader.learn(reader.analyze("/v1/embeddings", {}, body), prompt_tokens=None, output_tokens=7)

    chat = reader.analyze(CHAT, {}, orjson.dumps({"messages": MESSAGES})).view

    assert chat.expected_output_tokens == PRIOR_TOKENS


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON"),
        (b"hello", "not valid JSON"),
        (b'{"messages": [', "not valid JSON"),
        (b'{"a": NaN}', "not valid JSON"),
        (b'{"a": "\xff"}', "not valid JSON"),
        (b'{"a": "\\ud800"}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b"[" * 1000 + b"]" * 1000, "a JSON object, not a list"),
        (b'"text"', "a JSON object, not a string"),
        (b"null", "a JSON object, not null"),
        (b'{"messages":[' + b"[]," * 1_100_000 + b"[]]}", "more than 1,000,000 objects"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(BadRequest, match=says) as refusal:
        analyzer().analyze(CHAT, {}, body)

    error = orjson.loads(refusal.value.body())["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("model", 7, "model must be a string, not a number."),
        ("model", ["m"], "model must be a string, not a list."),
        ("stream", "yes", "stream must be true or false, not a string."),
        ("n", 0, "n must be at least 1."),
        ("n", "2", "n must be an integer, not a string."),
        ("n", True, "n must be an integer, not a boolean."),
        ("n", 1.5, "n must be an integer, not a number with a fraction."),
        ("max_tokens", -1, "max_tokens must be at least 0."),
        ("max_tokens", "many", "max_tokens must be an integer, not a string."),
        ("max_completion_tokens", [], "max_completion_tokens must be an integer, not a list."),
        ("cache_salt", 5, "cache_salt must be a string, not a number."),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_by_name(field: str, value: object, says: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        analyzer().analyze(CHAT, {}, orjson.dumps({"messages": MESSAGES, field: value}))

    assert (refusal.value.message, refusal.value.param) == (says, field)


def test_deep_nesting_in_fields_that_are_not_read_is_the_engine_s_business() -> None:
    deep = b"[" * 1000 + b"]" * 1000
    body = b'{"messages": [], "metadata": ' + deep + b"}"

    assert analyzer().analyze(CHAT, {}, body).view.prompt_tokens == 1


def test_duplicate_keys_and_huge_numbers_are_fine() -> None:
    digits = b"9" * 200
    body = b'{"model": "a", "model": "b", "messages": [], "n": %b, "max_tokens": %b, "seed": %b}'

    seen = analyzer().analyze(CHAT, {}, body % (digits, digits, digits))

    assert seen.model == "b"
    assert seen.view.sequences <= 1024
    assert seen.view.expected_output_tokens == PRIOR_TOKENS


def test_null_fields_count_as_absent() -> None:
    seen = analyze(model=None, messages=MESSAGES, n=None, stream=None, tools=None, max_tokens=None)

    assert (seen.model, seen.view.sequences, seen.streams) == (None, 1, False)


def test_malformed_hints_are_refused_unless_hints_are_ignored() -> None:
    body = orjson.dumps({"messages": MESSAGES})
    headers = {"x-slo-ttft-ms": "soon"}

    with pytest.raises(BadRequest):
        analyzer().analyze(CHAT, headers, body)
    with pytest.raises(BadRequest):
        analyzer().passthrough("/version", headers)
    assert analyzer(ClientHints.IGNORE).analyze(CHAT, headers, body).view.slo == SLO(ttft_s=0.5)


FIELDS = st.sampled_from(["n", "messages", "prompt", "role", "content", "type", "image", "text"])
NAMES = st.sampled_from(
    [
        *("model", "messages", "prompt", "input", "query", "documents", "text_1", "text_2", "n"),
        *("tools", "system", "instructions", "stream", "max_tokens", "cache_salt"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.just(0.5) | st.just("é")
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(ENDPOINTS)), st.dictionaries(NAMES, JSON, max_size=6))
def test_any_json_is_analyzed_or_refused_and_never_crashes(
    path: str, body: dict[str, object]
) -> None:
    try:
        seen = analyzer().analyze(path, {}, orjson.dumps(body))
    except BadRequest:
        return

    assert seen.view.prompt_tokens >= 1
    assert seen.view.sequences >= 1
    assert seen.view.block_tokens > 0


def test_what_the_client_says_of_its_reply_is_expected_up_to_the_limit_of_the_request() -> None:
    said = {"x-steelyard-output-tokens": "700"}

    assert analyze(headers=said, messages=MESSAGES).view.expected_output_tokens == 700
    capped = analyze(headers=said, messages=MESSAGES, max_tokens=90).view
    assert (capped.expected_output_tokens, capped.most_output_tokens) == (90, None)
    assert analyze(headers=said, messages=MESSAGES, max_tokens=0).view.expected_output_tokens == 1
    with pytest.raises(BadRequest, match="x-steelyard-output-tokens"):
        analyze(headers={"x-steelyard-output-tokens": "long"}, messages=MESSAGES)
    assert analyze("/v1/embeddings", said, input="x").view.expected_output_tokens == 1


def test_ignored_hints_do_not_tell_how_long_the_reply_will_be() -> None:
    body = orjson.dumps({"messages": MESSAGES})

    seen = analyzer(ClientHints.IGNORE).analyze(CHAT, {"x-steelyard-output-tokens": "7"}, body)

    assert seen.view.expected_output_tokens == PRIOR_TOKENS


def test_a_session_and_the_longest_replies_are_learned_from_what_engines_report() -> None:
    reader, body = analyzer(), orjson.dumps({"messages": MESSAGES})
    for number in range(40):
        session = "wordy" if number % 4 == 0 else f"s{number}"
        seen = reader.analyze(CHAT, {"x-session-id": session}, body)
        tokens = 1000 if session == "wordy" else 100
        reader.learn(seen, prompt_tokens=None, output_tokens=tokens)

    wordy = reader.analyze(CHAT, {"x-session-id": "wordy"}, body).view
    other = reader.analyze(CHAT, {}, body).view
    assert wordy.expected_output_tokens is not None
    assert other.expected_output_tokens is not None
    assert other.expected_output_tokens < 500
    assert wordy.expected_output_tokens > 700
    assert other.most_output_tokens == pytest.approx(1000, rel=0.2)


def test_who_is_said_to_answer_at_more_length_than_most_is_counted_with_as_much() -> None:
    reader, body = analyzer(), orjson.dumps({"messages": MESSAGES})
    for _ in range(40):
        reader.learn(reader.analyze(CHAT, {}, body), prompt_tokens=None, output_tokens=100)

    longer = reader.analyze(CHAT, {"x-steelyard-output-tokens": "5000"}, body).view
    shorter = reader.analyze(CHAT, {"x-steelyard-output-tokens": "5"}, body).view

    assert (longer.expected_output_tokens, longer.most_output_tokens) == (5000, 5000)
    assert shorter.expected_output_tokens == 5
    assert shorter.most_output_tokens == pytest.approx(100, rel=0.2)
