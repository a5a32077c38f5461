"""POST /v1/completions."""

import time
from typing import Any

import orjson
from aiohttp import web

from steelyard_simulator.server.backend import BACKEND
from steelyard_simulator.server.error import BadRequest
from steelyard_simulator.server.format import DONE, Usage
from steelyard_simulator.server.generation import (
    Generation,
    check_stream_options,
    request_id,
    serve,
)
from steelyard_simulator.server.schema import CompletionBody, Texts, read
from steelyard_simulator.server.tokenizer import render_ids


async def handle(request: web.Request) -> web.StreamResponse:
    """Continues one prompt or several."""
    backend = request.app[BACKEND]
    body = await read(request, CompletionBody)
    backend.check_model(body.model)
    check_stream_options(body)
    generation = Generation(
        prompts=prompts(body.prompt, "prompt"),
        choices=body.n,
        wanted=body.max_tokens,
        streams=body.stream,
        salt=body.cache_salt,
        priority=body.priority,
    )
    name = f"cmpl-{request_id(request)}"
    sequences = len(generation.prompts) * body.n
    completion = CompletionFormat(name, backend.settings.model, sequences, usage=body.include_usage)
    return await serve(request, generation, completion)


def prompts(texts: Texts, field: str) -> list[bytes]:
    """One text or token list, or several, as bytes. BadRequest if there is none."""
    if isinstance(texts, str):
        return [texts.encode()]
    if not texts or texts == [[]]:
        raise BadRequest(f"{field} must not be empty", param=field)
    if isinstance(texts[0], int):
        return [render_ids([one for one in texts if isinstance(one, int)])]
    return [
        one.encode() if isinstance(one, str) else render_ids(one)
        for one in texts
        if not isinstance(one, int)
    ]


class CompletionFormat:
    """text_completion, the same object for chunks and for whole answers."""

    def __init__(self, name: str, model: str, sequences: int, *, usage: bool) -> None:
        self._head: dict[str, Any] = {
            "id": name,
            "object": "text_completion",
            "created": int(time.time()),
            "model": model,
        }
        # Every chunk but for its text is formatted once and then joined: this runs per token.
        head = b"data: " + orjson.dumps(self._head)[:-1]
        self._starts = [
            b'%b,"choices":[{"index":%d,"text":"' % (head, index) for index in range(sequences)
        ]
        self._usage = usage

    def preamble(self) -> bytes:
        return b""

    def opening(self, index: int) -> bytes:
        del index
        return b""

    def delta(self, index: int, text: bytes) -> bytes:
        return (
            self._starts[index]
            + text
            + b'","logprobs":null,"finish_reason":null,"stop_reason":null}]}\n\n'
        )

    def ending(self, index: int, text: bytes, reason: str) -> bytes:
        return self._starts[
            index
        ] + b'%b","logprobs":null,"finish_reason":"%b","stop_reason":null}]}\n\n' % (
            text,
            reason.encode(),
        )

    def closing(self, usage: Usage) -> bytes:
        if not self._usage:
            return DONE
        chunk = {**self._head, "choices": [], "usage": usage.to_dict()}
        return b"data: " + orjson.dumps(chunk) + b"\n\n" + DONE

    def plain(self, texts: list[str], reason: str, usage: Usage) -> dict[str, Any]:
        choices = [
            {
                "index": index,
                "text": text,
                "logprobs": None,
                "finish_reason": reason,
                "stop_reason": None,
                "prompt_logprobs": None,
            }
            for index, text in enumerate(texts)
        ]
        return {**self._head, "choices": choices, "usage": usage.to_dict()}
