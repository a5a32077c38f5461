"""POST /v1/chat/completions."""

import time
from typing import Any

import orjson
from aiohttp import web

from steelyard_simulator.server.backend import BACKEND
from steelyard_simulator.server.format import DONE, Usage
from steelyard_simulator.server.generation import (
    Generation,
    check_stream_options,
    request_id,
    serve,
)
from steelyard_simulator.server.schema import ChatBody, read
from steelyard_simulator.server.tokenizer import render_chat


async def handle(request: web.Request) -> web.StreamResponse:
    """Answers one conversation."""
    backend = request.app[BACKEND]
    body = await read(request, ChatBody)
    backend.check_model(body.model)
    check_stream_options(body)
    generation = Generation(
        prompts=[render_chat(body.messages, body.tools)],
        choices=body.n,
        wanted=body.max_completion_tokens or body.max_tokens,
        streams=body.stream,
        salt=body.cache_salt,
        priority=body.priority,
    )
    name = f"chatcmpl-{request_id(request)}"
    chat = ChatFormat(name, backend.settings.model, body.n, usage=body.include_usage)
    return await serve(request, generation, chat)


class ChatFormat:
    """chat.completion and chat.completion.chunk."""

    def __init__(self, name: str, model: str, sequences: int, *, usage: bool) -> None:
        self._head: dict[str, Any] = {
            "id": name,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        # Every chunk but for its text is formatted once and then joined: this runs per token.
        head = b"data: " + orjson.dumps(self._head)[:-1]
        self._starts = [
            b'%b,"choices":[{"index":%d,"delta":{' % (head, index) for index in range(sequences)
        ]
        self._usage = usage

    def preamble(self) -> bytes:
        return b""

    def opening(self, index: int) -> bytes:
        return (
            self._starts[index]
            + b'"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}\n\n'
        )

    def delta(self, index: int, text: bytes) -> bytes:
        return (
            self._starts[index]
            + b'"content":"'
            + text
            + b'"},"logprobs":null,"finish_reason":null}]}\n\n'
        )

    def ending(self, index: int, text: bytes, reason: str) -> bytes:
        return self._starts[
            index
        ] + b'"content":"%b"},"logprobs":null,"finish_reason":"%b","stop_reason":null}]}\n\n' % (
            text,
            reason.encode(),
        )

    def closing(self, usage: Usage) -> bytes:
        if not self._usage:
            return DONE
        chunk = {**self._head, "choices": [], "usage": usage.to_dict()}
        return b"data: " + orjson.dumps(chunk) + b"\n\n" + DONE

    def plain(self, texts: list[str], reason: str, usage: Usage) -> dict[str, Any]:
        choices: list[dict[str, Any]] = [
            {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": text,
                    "refusal": None,
                    "annotations": None,
                    "audio": None,
                    "function_call": None,
                    "tool_calls": [],
                },
                "logprobs": None,
                "finish_reason": reason,
                "stop_reason": None,
            }
            for index, text in enumerate(texts)
        ]
        return {
            **self._head,
            "object": "chat.completion",
            "choices": choices,
            "service_tier": None,
            "system_fingerprint": None,
            "usage": usage.to_dict(),
            "prompt_logprobs": None,
            "kv_transfer_params": None,
        }
