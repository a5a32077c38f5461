"""POST /v1/responses: text in, text out; nothing is stored."""

import time
from typing import Any

import orjson
from aiohttp import web

from steelyard_simulator.server.backend import BACKEND
from steelyard_simulator.server.error import BadRequest
from steelyard_simulator.server.format import Usage
from steelyard_simulator.server.generation import Generation, request_id, serve
from steelyard_simulator.server.schema import ResponsesBody, read
from steelyard_simulator.server.tokenizer import render_chat


async def handle(request: web.Request) -> web.StreamResponse:
    """Answers one input."""
    backend = request.app[BACKEND]
    body = await read(request, ResponsesBody)
    backend.check_model(body.model)
    if body.previous_response_id is not None:
        raise BadRequest(
            "previous_response_id: no responses are stored; send the whole conversation as input",
            param="previous_response_id",
        )
    generation = Generation(
        prompts=[render_chat(_messages(body), body.tools)],
        choices=1,
        wanted=body.max_output_tokens,
        streams=body.stream,
        salt=body.cache_salt,
        priority=body.priority,
    )
    name = request_id(request)
    return await serve(request, generation, ResponsesFormat(name, backend.settings.model))


def _messages(body: ResponsesBody) -> list[dict[str, Any]]:
    """Instructions and input items as a conversation; items without a role keep their whole
    content."""
    messages: list[dict[str, Any]] = []
    if body.instructions:
        messages.append({"role": "system", "content": body.instructions})
    if isinstance(body.input, str):
        messages.append({"role": "user", "content": body.input})
        return messages
    for item in body.input:
        if "role" in item:
            messages.append(item)
        else:
            messages.append({"role": "item", "tool_calls": [item]})
    return messages


class ResponsesFormat:
    """The response object and its event stream; one message with one text part."""

    def __init__(self, name: str, model: str) -> None:
        self._id = f"resp_{name}"
        self._item = f"msg_{name}"
        self._model = model
        self._created = int(time.time())
        self._number = 0
        self._text = bytearray()
        place = orjson.dumps({"item_id": self._item, "output_index": 0, "content_index": 0})
        self._start = (
            b"event: response.output_text.delta\n"
            b'data: {"type":"response.output_text.delta",' + place[1:-1] + b',"logprobs":[],'
        )

    def preamble(self) -> bytes:
        response = self._response("in_progress", None, None)
        return self._event("created", response=response) + self._event(
            "in_progress", response=response
        )

    def opening(self, index: int) -> bytes:
        del index
        return self._event(
            "output_item.added", output_index=0, item=self._message("in_progress", None)
        ) + self._event("content_part.added", **self._place(), part=_part(""))

    def delta(self, index: int, text: bytes) -> bytes:
        del index
        self._text += text
        number, self._number = self._number, self._number + 1
        return self._start + b'"sequence_number":%d,"delta":"%b"}\n\n' % (number, text)

    def ending(self, index: int, text: bytes, reason: str) -> bytes:
        del reason
        piece = self.delta(index, text)
        whole = self._text.decode()
        return b"".join(
            (
                piece,
                self._event("output_text.done", **self._place(), text=whole, logprobs=[]),
                self._event("content_part.done", **self._place(), part=_part(whole)),
                self._event(
                    "output_item.done", output_index=0, item=self._message("completed", whole)
                ),
            )
        )

    def closing(self, usage: Usage) -> bytes:
        response = self._response("completed", self._text.decode(), usage)
        return self._event("completed", response=response)

    def plain(self, texts: list[str], reason: str, usage: Usage) -> dict[str, Any]:
        status = "incomplete" if reason == "abort" else "completed"
        return self._response(status, texts[0], usage)

    def _event(self, name: str, **fields: object) -> bytes:
        number, self._number = self._number, self._number + 1
        data = {"type": f"response.{name}", "sequence_number": number, **fields}
        return b"event: response.%b\ndata: %b\n\n" % (name.encode(), orjson.dumps(data))

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item, "output_index": 0, "content_index": 0}

    def _message(self, status: str, text: str | None) -> dict[str, Any]:
        return {
            "id": self._item,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [] if text is None else [_part(text)],
        }

    def _response(self, status: str, text: str | None, usage: Usage | None) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "model": self._model,
            "output": [] if text is None else [self._message(status, text)],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": None,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": _usage(usage) if usage else None,
        }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": None}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
