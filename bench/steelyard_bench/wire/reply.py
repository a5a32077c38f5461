"""The bytes that the dummy engine answers with, made once for every kind of request.

They have the size and shape of vLLM's, so that routers find in them what they look for: token
counts, events that end in a blank line, `[DONE]`.
"""

import functools
from dataclasses import dataclass

import orjson

MODEL = "dummy"
DEFAULT_TOKENS = 16
MOST_TOKENS = 100_000
BYTES_PER_TOKEN = 4
PACE_MARK = "pace-ms:"
PAGES = {
    b"/health": b"",
    b"/ping": b"",
    b"/v1/models": orjson.dumps(
        {
            "object": "list",
            "data": [
                {
                    "id": MODEL,
                    "object": "model",
                    "created": 0,
                    "owned_by": "vllm",
                    "max_model_len": 131_072,
                }
            ],
        }
    ),
    b"/model_info": b"{}",
    b"/server_info": b"{}",
    b"/get_load": orjson.dumps([{"dp_rank": 0, "num_reqs": 0, "num_waiting_reqs": 0}]),
    b"/load": orjson.dumps({"server_load": 0}),
    b"/metrics": (
        b'vllm:num_requests_running{engine="0"} 0\n'
        b'vllm:num_requests_waiting{engine="0"} 0\n'
        b'vllm:kv_cache_usage_perc{engine="0"} 0\n'
        b'vllm:cache_config_info{block_size="16",num_gpu_blocks="16384"} 1\n'
    ),
}
"""What routers ask engines beside generation; the metrics say that nothing queues here. There is no
`model_path`: a router would look for a tokenizer of that name.
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request asks for."""

    prompt_tokens: int
    tokens: int = DEFAULT_TOKENS
    streams: bool = False
    usage: bool = False
    pace_s: float = 0.0
    """Seconds between two chunks of a stream; 0: all at once."""


def wish(body: bytes) -> Wish | None:
    """Read a request's body; None when it is no JSON object."""
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(fields, dict):
        return None
    tokens = fields.get("max_completion_tokens") or fields.get("max_tokens") or DEFAULT_TOKENS
    options = fields.get("stream_options")
    return Wish(
        prompt_tokens=len(body) // BYTES_PER_TOKEN,
        tokens=min(int(tokens), MOST_TOKENS),
        streams=bool(fields.get("stream")),
        usage=isinstance(options, dict) and bool(options.get("include_usage")),
        pace_s=_pace_s(fields.get("stop")),
    )


def pace_field(pace_ms: float) -> dict[str, list[str]]:
    """The request field that asks for a chunk every `pace_ms`.

    Routers drop headers, `user` and what they do not know; a stop sequence gets through them all.
    """
    return {"stop": [f"{PACE_MARK}{pace_ms:g}"]}


def _pace_s(stop: object) -> float:
    match stop:
        case [str(mark)] if mark.startswith(PACE_MARK):
            return float(mark.removeprefix(PACE_MARK)) / 1000
        case _:
            return 0.0


@functools.lru_cache(maxsize=256)
def rendered(body: bytes) -> bytes:
    """Made-up token ids of a prompt, equal as far as prompts are: vllm-router asks for them before
    every request.
    """
    return whole(orjson.dumps({"token_ids": list(body[::BYTES_PER_TOKEN])}))


def whole(body: bytes, *, status: bytes = b"200 OK", kind: bytes = b"application/json") -> bytes:
    """A response with a length."""
    return b"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        kind,
        len(body),
        body,
    )


@functools.lru_cache(maxsize=1024)
def completion(prompt_tokens: int, tokens: int) -> bytes:
    """A chat completion that does not stream."""
    message = {"role": "assistant", "content": " token" * tokens}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length"}
    return whole(
        orjson.dumps(
            {
                "id": "chatcmpl-0",
                "object": "chat.completion",
                "created": 0,
                "model": MODEL,
                "choices": [choice],
                "usage": _usage(prompt_tokens, tokens),
            }
        )
    )


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


@functools.lru_cache(maxsize=1024)
def stream(prompt_tokens: int, tokens: int, *, usage: bool) -> bytes:
    """A whole stream: head, one HTTP chunk per event, end."""
    return b"".join(
        [
            STREAM_HEAD,
            token() * (tokens - 1),
            token(last=True),
            stream_end(prompt_tokens, tokens, usage=usage),
        ]
    )


@functools.cache
def token(*, last: bool = False) -> bytes:
    """The HTTP chunk of one token's event."""
    reason = "length" if last else None
    choice = {"index": 0, "delta": {"content": " token"}, "logprobs": None, "finish_reason": reason}
    return _chunk(_event({"choices": [choice]}))


@functools.lru_cache(maxsize=1024)
def stream_end(prompt_tokens: int, tokens: int, *, usage: bool) -> bytes:
    """What follows the last token, the end of the HTTP body included."""
    report = _event({"choices": [], "usage": _usage(prompt_tokens, tokens)}) if usage else b""
    parts = [_chunk(report)] if usage else []
    return b"".join([*parts, _chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n"])


def _event(fields: dict[str, object]) -> bytes:
    head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    return b"data: " + orjson.dumps({**head, **fields}) + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _usage(prompt_tokens: int, tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": tokens,
        "total_tokens": prompt_tokens + tokens,
    }
