"""Makes sure that a target gives the right answers before its speed is of any interest.

It sends every prompt of a cell once, which fills caches and indexes too.
"""

import aiohttp

from steelyard_bench.wire.cell import Cell, Request
from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.target import Target

TIMEOUT = aiohttp.ClientTimeout(total=30)


async def check(http: aiohttp.ClientSession, target: Target, cell: Cell) -> None:
    """Raises WireError at the first wrong answer."""
    requests = cell.requests()[:1] if cell.pace_ms else cell.requests()
    for request in requests:
        wrong = await _wrong(http, target, cell, request)
        if wrong:
            raise WireError(f"{target.label}, cell {cell.name}: {wrong}")


async def _wrong(
    http: aiohttp.ClientSession, target: Target, cell: Cell, request: Request
) -> str | None:
    headers = {"Content-Type": "application/json"}
    try:
        async with http.post(
            target.url, data=request.body, headers=headers, timeout=TIMEOUT
        ) as answer:
            body = await answer.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        return f"no answer ({str(error) or 'timed out'})"
    if answer.status != 200:
        return f"status {answer.status} instead of 200: {body[:200].decode(errors='replace')}"
    if cell.streams:
        events = body.count(b"data: ")
        good = events == request.tokens + 1 and body.endswith(b"data: [DONE]\n\n")
        return None if good else f"{events} events instead of {request.tokens} and [DONE]"
    good = b'"completion_tokens":%d' % request.tokens in body
    return None if good else f"not {request.tokens} tokens: {body[:200].decode(errors='replace')}"
