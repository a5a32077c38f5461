"""Reads GET /debug/record of one or several routers into one trace file.

All are asked under one name, drawn here for each file: replicas that share a salt then give equal
prompts equal hashes.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import orjson

from steelyard_simulator.load.recorded import END, MARK
from steelyard_simulator.recording.trace_file import Row, TraceFile

CONNECT_S: Final = 10.0
MOST_ERROR_BYTES: Final = 65536
CONTENT_TYPE: Final = "application/x-ndjson"
LINGER_S: Final = 180.0
"""A router waits a while for the requests that still run; longer than that, it hangs."""


class RecordingError(Exception):
    """The recording cannot begin; the message says what to do."""


class _FullError(Exception):
    """The file has no room left."""


@dataclass(slots=True)
class Summary:
    """How a recording ended, over all routers; `reasons` other than "time" by router."""

    requests: int = 0
    dropped: int = 0
    unfinished: int = 0
    full: bool = False
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        return "bytes" if self.full else "; ".join(self.reasons.values()) or "time"


async def record(
    urls: Sequence[str],
    file: TraceFile,
    *,
    seconds: int,
    on_request: Callable[[int], None] = lambda _: None,
) -> Summary:
    """Returns when all routers are done or the file is full. Raises RecordingError."""
    summary = Summary()
    query = {"seconds": str(seconds), "name": secrets.token_hex(16)}
    timeout = aiohttp.ClientTimeout(total=seconds + LINGER_S, sock_connect=CONNECT_S)
    ended = False
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        # One after the other: what has begun is closed with the stack when another refuses.
        responses = [await _begin(stack, http, url, query) for url in urls]
        try:
            async with asyncio.TaskGroup() as group:
                for url, response in zip(urls, responses, strict=True):
                    group.create_task(_keep(url, response, file, summary, on_request))
            ended = True
        except* _FullError:
            ended = summary.full = True
        finally:
            summary.requests = file.requests
            reason = summary.reason if ended else "interrupted"
            file.end(reason, dropped=summary.dropped, unfinished=summary.unfinished)
    return summary


async def _begin(
    stack: AsyncExitStack, http: aiohttp.ClientSession, url: str, query: dict[str, str]
) -> aiohttp.ClientResponse:
    """The router's answer, which `stack` closes. Raises RecordingError."""
    try:
        asking = http.get(f"{url.rstrip('/')}/debug/record", params=query)
        response = await stack.enter_async_context(asking)
        if response.content_type == CONTENT_TYPE:
            return response
        body = await response.content.read(MOST_ERROR_BYTES)
    except (aiohttp.ClientError, OSError) as error:
        raise RecordingError(
            f"no router answers at {url} ({str(error) or type(error).__name__}); "
            "give its admin address with --url"
        ) from error
    try:
        message = orjson.loads(body)["error"]["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = f"status {response.status}; is it the admin address of a router?"
    raise RecordingError(f"{url}: {message}")


async def _keep(
    url: str,
    response: aiohttp.ClientResponse,
    file: TraceFile,
    summary: Summary,
    on_request: Callable[[int], None],
) -> None:
    began_ms, reason = 0.0, "cut off"
    try:
        async with aclosing(_rows(response)) as rows:
            async for row in rows:
                if MARK in row:
                    began_ms = row["started_unix_ms"]
                    file.begin(began_ms)
                elif END in row:
                    reason = row[END]["reason"]
                    summary.dropped += row[END]["dropped"]
                    summary.unfinished += row[END]["unfinished"]
                elif file.add(row, began_ms):
                    on_request(file.requests)
                else:
                    raise _FullError
    except (aiohttp.ClientError, OSError):
        pass  # as told by `reason`
    if reason != "time":
        summary.reasons[url] = reason


async def _rows(response: aiohttp.ClientResponse) -> AsyncGenerator[Row, None]:
    """Line by line, however long they are."""
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield orjson.loads(line)
