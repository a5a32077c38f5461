"""What a server says about itself, and /tokenize: answered at once, whatever the engine does."""

import importlib.metadata
import time
from typing import Any

import orjson
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from steelyard_simulator.server.backend import BACKEND
from steelyard_simulator.server.error import BadRequest
from steelyard_simulator.server.schema import TokenizeBody, read
from steelyard_simulator.server.tokenizer import count_tokens, render_chat, render_ids, token_ids


async def health(request: web.Request) -> web.Response:
    """GET /health and /ping: 200 while it serves, 503 while it drains."""
    return web.Response(status=503 if request.app[BACKEND].draining else 200)


async def models(request: web.Request) -> web.Response:
    """GET /v1/models."""
    settings = request.app[BACKEND].settings
    return _json(
        {
            "object": "list",
            "data": [
                {
                    "id": settings.model,
                    "object": "model",
                    "created": int(time.time()),
                    "owned_by": "steelyard",
                    "root": settings.model,
                    "parent": None,
                    "max_model_len": settings.profile.longest,
                }
            ],
        }
    )


async def version(request: web.Request) -> web.Response:
    """GET /version."""
    del request
    return _json({"version": f"{importlib.metadata.version('steelyard')}+simulated"})


async def load(request: web.Request) -> web.Response:
    """GET /load: requests under way."""
    return _json({"server_load": request.app[BACKEND].active})


async def metrics(request: web.Request) -> web.Response:
    """GET /metrics."""
    body = request.app[BACKEND].metrics.render()
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})


async def tokenize(request: web.Request) -> web.Response:
    """POST /tokenize."""
    backend = request.app[BACKEND]
    body = await read(request, TokenizeBody)
    backend.check_model(body.model)
    if (body.prompt is None) == (body.messages is None):
        raise BadRequest("give exactly one of prompt and messages", param="prompt")
    if body.messages is not None:
        prompt = render_chat(body.messages, body.tools)
    elif isinstance(body.prompt, str):
        prompt = body.prompt.encode()
    else:
        prompt = render_ids(body.prompt or [])
    return _json(
        {
            "count": count_tokens(prompt),
            "max_model_len": backend.settings.profile.longest,
            "tokens": token_ids(prompt),
            "token_strs": None,
        }
    )


def _json(content: dict[str, Any]) -> web.Response:
    return web.Response(body=orjson.dumps(content), content_type="application/json")
