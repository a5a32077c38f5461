"""Endpoints that read and do not write: embeddings, rerank, score. Each text is a job without
output.

The numbers are made up from hashes: equal texts get equal ones, and that is all they mean.
"""

import time
from array import array
from base64 import b64encode
from math import sqrt
from random import Random
from typing import Any

import orjson
import xxhash
from aiohttp import web

from steelyard_simulator.server.backend import BACKEND
from steelyard_simulator.server.completion import prompts
from steelyard_simulator.server.error import BadRequest
from steelyard_simulator.server.generation import request_id
from steelyard_simulator.server.schema import Body, EmbeddingBody, RerankBody, ScoreBody, read
from steelyard_simulator.server.tokenizer import count_tokens


async def embed(request: web.Request) -> web.StreamResponse:
    """POST /v1/embeddings."""
    body = await read(request, EmbeddingBody)
    texts = prompts(body.input, "input")
    usage = await _compute(request, body, texts)
    data = [
        {
            "index": index,
            "object": "embedding",
            "embedding": _encoded(_vector(text, body.dimensions), body.encoding_format),
        }
        for index, text in enumerate(texts)
    ]
    return _answer(request, "embd", {"object": "list", "data": data, "usage": usage})


async def rerank(request: web.Request) -> web.StreamResponse:
    """POST /v1/rerank: the documents, the most relevant first."""
    body = await read(request, RerankBody)
    texts = [_pair(body.query, document) for document in body.documents]
    usage = await _compute(request, body, texts)
    results = [
        {
            "index": index,
            "document": {"text": body.documents[index]},
            "relevance_score": _relevance(text),
        }
        for index, text in enumerate(texts)
    ]
    results.sort(key=lambda one: -float(str(one["relevance_score"])))
    top = results[: body.top_n] if body.top_n else results
    return _answer(request, "rerank", {"results": top, "usage": usage})


async def score(request: web.Request) -> web.StreamResponse:
    """POST /v1/score."""
    body = await read(request, ScoreBody)
    left = [body.text_1] if isinstance(body.text_1, str) else body.text_1
    right = [body.text_2] if isinstance(body.text_2, str) else body.text_2
    if len(left) == 1:
        left = left * len(right)
    if not left or len(left) != len(right):
        raise BadRequest("text_1 must be one text, or as many as text_2 has", param="text_1")
    texts = [_pair(*pair) for pair in zip(left, right, strict=True)]
    usage = await _compute(request, body, texts)
    data = [
        {"index": index, "object": "score", "score": _relevance(text)}
        for index, text in enumerate(texts)
    ]
    return _answer(request, "score", {"object": "list", "data": data, "usage": usage})


async def _compute(request: web.Request, body: Body, texts: list[bytes]) -> dict[str, Any]:
    """Prefills the texts; returns the usage."""
    backend = request.app[BACKEND]
    backend.check_model(body.model)
    jobs = []
    for text in texts:
        backend.output_tokens(count_tokens(text), None, 0)
        jobs.append(
            backend.job(text, output=b"", output_tokens=0, salt=None, priority=body.priority)
        )
    group = backend.driver.start(jobs, streams=False)
    try:
        await group.news()
    finally:
        backend.driver.drop(group)
    backend.metrics.record(group, "stop")
    tokens = sum(job.prompt_tokens for job in jobs)
    return {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}


def _answer(request: web.Request, prefix: str, fields: dict[str, Any]) -> web.Response:
    body = {
        "id": f"{prefix}-{request_id(request)}",
        "created": int(time.time()),
        "model": request.app[BACKEND].settings.model,
        **fields,
    }
    return web.Response(body=orjson.dumps(body), content_type="application/json")


def _pair(left: str, right: str) -> bytes:
    return f"{left}\n{right}".encode()


def _relevance(text: bytes) -> float:
    return xxhash.xxh3_64_intdigest(text) / 2**64


def _vector(text: bytes, dimensions: int) -> list[float]:
    """A direction of length 1."""
    rng = Random(xxhash.xxh3_64_intdigest(text))
    values = [rng.gauss(0, 1) for _ in range(dimensions)]
    length = sqrt(sum(value * value for value in values))
    return [value / length for value in values]


def _encoded(vector: list[float], encoding: str) -> list[float] | str:
    if encoding == "float":
        return vector
    return b64encode(array("f", vector).tobytes()).decode()
