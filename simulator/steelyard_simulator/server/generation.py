"""The path of a generating request: from prompts to jobs, and from jobs to a stream or a whole
answer.

Whatever ends it (the last token, a fault, a client that leaves), `finally` takes its jobs out of
the engine.
"""

from dataclasses import dataclass
from uuid import uuid4

import orjson
from aiohttp import web

from steelyard_simulator.engine.job import Job
from steelyard_simulator.server.backend import BACKEND, Backend
from steelyard_simulator.server.driver import Group
from steelyard_simulator.server.error import BadRequest, EngineDead
from steelyard_simulator.server.fault import AbortKind
from steelyard_simulator.server.format import DONE, Format, Usage
from steelyard_simulator.server.schema import GenerationBody
from steelyard_simulator.server.tokenizer import count_tokens

DEFAULT_OUTPUT_TOKENS = 128
"""What an answer has where the client set no limit: then the model is said to have stopped by
itself."""
SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Generation:
    """What one request asks for: `choices` answers to each of `prompts`, of `wanted` tokens."""

    prompts: list[bytes]
    choices: int
    wanted: int | None
    streams: bool
    salt: str | None
    priority: int


@dataclass(frozen=True, slots=True)
class _Work:
    """The request as jobs. `offsets` says where in the endless text each answer begins."""

    jobs: list[Job]
    offsets: list[int]
    reason: str
    abort: AbortKind | None
    choices: int


def request_id(request: web.Request) -> str:
    """The client's X-Request-Id, or one of our own."""
    return request.headers.get("X-Request-Id") or uuid4().hex


def check_stream_options(body: GenerationBody) -> None:
    if body.stream_options is not None and not body.stream:
        raise BadRequest(
            "Stream options can only be defined when `stream=True`.", param="stream_options"
        )


async def serve(request: web.Request, generation: Generation, form: Format) -> web.StreamResponse:
    """Runs the request to its end and answers it in the given form."""
    backend = request.app[BACKEND]
    work = _plan(backend, generation)
    group = backend.driver.start(work.jobs, streams=generation.streams)
    try:
        if generation.streams:
            return await _stream(request, work, group, form)
        return await _whole(request, work, group, form)
    finally:
        backend.driver.drop(group)


def _plan(backend: Backend, generation: Generation) -> _Work:
    reason = "stop" if generation.wanted is None else "length"
    lengths = [
        backend.output_tokens(count_tokens(prompt), generation.wanted, DEFAULT_OUTPUT_TOKENS)
        for prompt in generation.prompts
    ]
    abort = None
    if backend.dice.hit(backend.faults.abort_rate):
        abort = backend.faults.abort_kind
        lengths = [backend.dice.cut(length) for length in lengths]
        reason = "abort"
    jobs, offsets = [], []
    for prompt, length in zip(generation.prompts, lengths, strict=True):
        for choice in range(generation.choices):
            offset = backend.offset(prompt, choice)
            offsets.append(offset)
            job = backend.job(
                prompt,
                output=backend.text.read(offset, 0, length),
                output_tokens=length,
                salt=generation.salt,
                priority=generation.priority,
            )
            jobs.append(job)
    return _Work(jobs, offsets, reason, abort, generation.choices)


async def _whole(
    request: web.Request, work: _Work, group: Group, form: Format
) -> web.StreamResponse:
    backend = request.app[BACKEND]
    await group.news()
    if work.abort is AbortKind.CONNECTION:
        return hang_up(request)
    if work.abort is AbortKind.ERROR_EVENT:
        raise EngineDead("EngineCore encountered an issue (simulated by abort_rate).")
    backend.metrics.record(group, work.reason)
    texts = [
        backend.text.read(offset, 0, ticket.generated).decode()
        for offset, ticket in zip(work.offsets, group.tickets, strict=True)
    ]
    body = orjson.dumps(form.plain(texts, work.reason, _usage(work, group)))
    return web.Response(body=body, content_type="application/json")


async def _stream(
    request: web.Request, work: _Work, group: Group, form: Format
) -> web.StreamResponse:
    response = web.StreamResponse(headers=SSE_HEADERS)
    await response.prepare(request)
    if preamble := form.preamble():
        await response.write(preamble)
    backend = request.app[BACKEND]
    sent = [0] * len(group.tickets)
    while True:
        await group.news()
        over = not group.pending
        pieces = _pieces(backend, work, group, form, sent)
        if over:
            break
        await response.write(b"".join(pieces))
    if work.abort is AbortKind.CONNECTION:
        await response.write(b"".join(pieces))
        hang_up(request)
        return response
    if work.abort is AbortKind.ERROR_EVENT:
        dead = EngineDead("EngineCore encountered an issue (simulated by abort_rate).")
        pieces += [b"data: ", dead.body(), b"\n\n", DONE]
    else:
        backend.metrics.record(group, work.reason)
        pieces.append(form.closing(_usage(work, group)))
    await response.write(b"".join(pieces))
    await response.write_eof()
    return response


def _pieces(
    backend: Backend, work: _Work, group: Group, form: Format, sent: list[int]
) -> list[bytes]:
    """Events for what has come since the last time; brings `sent` (tokens a sequence) up to
    date."""
    pieces = []
    for index, ticket in enumerate(group.tickets):
        before, now = sent[index], ticket.generated
        if now == before:
            continue
        text = backend.text.read(work.offsets[index], before, now)
        if not before:
            pieces.append(form.opening(index))
        if ticket.finished_s is None or work.abort in _BREAKS:
            pieces.append(form.delta(index, text))
        else:
            pieces.append(form.ending(index, text, work.reason))
        sent[index] = now
    return pieces


_BREAKS = frozenset({AbortKind.CONNECTION, AbortKind.ERROR_EVENT})


def _usage(work: _Work, group: Group) -> Usage:
    firsts = group.tickets[:: work.choices]
    return Usage(
        prompt_tokens=sum(ticket.job.prompt_tokens for ticket in firsts),
        completion_tokens=sum(ticket.generated for ticket in group.tickets),
        cached_tokens=sum(ticket.cached_tokens for ticket in firsts),
    )


def hang_up(request: web.Request) -> web.Response:
    """Resets the connection. What is returned is never sent; aiohttp wants an answer all the
    same."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
