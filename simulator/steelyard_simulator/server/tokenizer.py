"""Prompts as bytes, tokens as four bytes, cache blocks as chained hashes. No vocabulary is needed.

A message is rendered as a header and its content, each filled up to whole tokens, and an answer
begins where the prompt ends. So the next turn of a conversation, which repeats the answer as a
message, renders to the very bytes that were prompt and output before, and hits their blocks.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from typing import Any

import orjson
import xxhash

from steelyard_simulator.server.error import BadRequest
from steelyard_simulator.server.text import TOKEN_BYTES

MEDIA_TOKENS = 256
"""What an image or a sound counts as, whatever its size."""
VOCABULARY = 151_936
"""Token ids that /tokenize shows are below it; many texts share an id."""


def count_tokens(prompt: bytes) -> int:
    return max(1, -(-len(prompt) // TOKEN_BYTES))


def token_ids(prompt: bytes) -> list[int]:
    words = (prompt[i : i + TOKEN_BYTES] for i in range(0, len(prompt), TOKEN_BYTES))
    return [int.from_bytes(word, "little") % VOCABULARY for word in words]


def render_ids(ids: Seq[int]) -> bytes:
    """A prompt given as token ids: four bytes each."""
    return b"".join((one & 0xFFFF_FFFF).to_bytes(TOKEN_BYTES, "little") for one in ids)


def render_chat(messages: Seq[Mapping[str, Any]], tools: Seq[Any] | None = None) -> bytes:
    """The prompt of a conversation, up to the header of the answer. BadRequest names a bad
    message."""
    parts = [_whole(b"<|tools|>" + _json(tools, "tools"))] if tools else []
    for index, message in enumerate(messages):
        parts.append(_header(message.get("role"), index))
        parts.append(_whole(_content(message, index)))
    parts.append(_header("assistant", len(messages)))
    return b"".join(parts)


def block_hashes(text: bytes, block_tokens: int, *, namespace: str) -> list[int]:
    """A hash for each whole block, chained over all before it, within a namespace (model and
    salt)."""
    size = block_tokens * TOKEN_BYTES
    chain = xxhash.xxh3_64_intdigest(namespace.encode())
    view = memoryview(text)
    digest = xxhash.xxh3_64_intdigest
    hashes = []
    for start in range(0, len(text) - size + 1, size):
        chain = digest(view[start : start + size], chain)
        hashes.append(chain)
    return hashes


def _header(role: object, index: int) -> bytes:
    if not isinstance(role, str):
        raise BadRequest(
            f"messages[{index}].role must be a string", param=f"messages[{index}].role"
        )
    return _whole(b"<|" + role.encode() + b"|>\n")


def _content(message: Mapping[str, Any], index: int) -> bytes:
    content = message.get("content")
    calls = message.get("tool_calls")
    tail = _json(calls, f"messages[{index}].tool_calls") if calls else b""
    if content is None:
        return tail
    if isinstance(content, str):
        return content.encode() + tail
    if isinstance(content, list):
        return b"".join(_part(part, index) for part in content) + tail
    raise BadRequest(
        f"messages[{index}].content must be a string or a list of parts",
        param=f"messages[{index}].content",
    )


def _part(part: object, index: int) -> bytes:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"]).encode()
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        digest = xxhash.xxh3_128_digest(_json(part, f"messages[{index}].content"))
        return digest * (MEDIA_TOKENS * TOKEN_BYTES // len(digest))
    raise BadRequest(
        f"messages[{index}].content holds a part without type", param=f"messages[{index}].content"
    )


def _json(value: object, field: str) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise BadRequest(f"{field}: {error}", param=field) from None


def _whole(text: bytes) -> bytes:
    """Fills up to whole tokens."""
    return text + b"\n" * (-len(text) % TOKEN_BYTES)
