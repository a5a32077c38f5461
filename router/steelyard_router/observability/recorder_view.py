"""GET /debug/record: a recording as it is made, a line for each request that ends.

It ends by itself: at its time, once the requests that came in by then are answered (GRACE_S at
most); when the configuration forbids it; when the router stops; when the reader goes, or takes
nothing for WRITE_S. The last line says which, and how many requests it lacks.
"""

import asyncio
import logging
import re
import secrets
from collections.abc import Callable

from aiohttp import web

from steelyard_router.errors import BadRequest, ClientError
from steelyard_router.observability.recorder import Reading, Recorder

SECONDS = 600
MOST_SECONDS = 86_400
GRACE_S = 60.0
WRITE_S = 60.0
POLL_S = 0.2
CHUNK_BYTES = 64 * 1024
CONTENT_TYPE = "application/x-ndjson"

Clock = Callable[[], float]

log = logging.getLogger(__name__)


class RecordOffError(ClientError):
    """/debug/record while recording is not allowed."""

    status, type, code = 404, "invalid_request_error", "record_off"


class TooManyReadersError(ClientError):
    """/debug/record while MOST_READINGS others read it."""

    status, type, code = 429, "rate_limit_error", "too_many_readers"


async def record(
    request: web.Request, recorder: Recorder, clock: Clock, wall: Clock
) -> web.StreamResponse:
    """Answers with the recording. Query: `seconds`, and `name`, which the hashes depend on."""
    if not recorder.allowed:
        raise RecordOffError(
            "recording is not allowed: set `debug: {record: true}` in the configuration file (it"
            " takes effect without a restart) or start the router with STEELYARD_RECORD=1"
        )
    if recorder.full:
        raise TooManyReadersError("enough recordings run at once; end one, or come again later")
    seconds, name = _seconds(request), request.query.get("name") or secrets.token_hex(16)
    response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
    reading = recorder.begin(name, clock(), seconds)
    log.info("%s records hashes and lengths of requests for %d s", request.remote, seconds)
    try:
        await response.prepare(request)
        await _write(response, reading.head(wall()))
        reason = None
        while reason is None:
            await asyncio.sleep(POLL_S)
            if request.transport is None or request.transport.is_closing():
                return response
            reason = _over(reading, recorder, clock())
            await _flush(response, reading)
        await _write(response, reading.end(reason))
        await response.write_eof()
    except TimeoutError:
        log.warning("the reader of /debug/record took nothing for %g s: cut off", WRITE_S)
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        pass  # the reader is gone
    finally:
        recorder.finish(reading)
        log.info("a recording ended: %d requests, %d dropped", reading.written, reading.dropped)
    return response


def _over(reading: Reading, recorder: Recorder, now: float) -> str | None:
    """Why the recording is over; None: it is not."""
    if recorder.closing:
        return "the router stops"
    if not recorder.allowed:
        return "switched off"
    waited = now - reading.until_s
    return "time" if waited >= GRACE_S or (waited >= 0 and not reading.open) else None


async def _flush(response: web.StreamResponse, reading: Reading) -> None:
    """Writes what waits; between two lines, the event loop serves requests."""
    lines, held = [], 0
    for _ in range(reading.waiting):
        line = reading.take()
        lines.append(line)
        held += len(line)
        if held >= CHUNK_BYTES:
            await _write(response, b"".join(lines))
            lines, held = [], 0
        await asyncio.sleep(0)
    if lines:
        await _write(response, b"".join(lines))


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(WRITE_S):
        await response.write(data)


def _seconds(request: web.Request) -> int:
    text = request.query.get("seconds", str(SECONDS))
    if re.fullmatch(r"[1-9][0-9]{0,4}", text) is None or int(text) > MOST_SECONDS:
        raise BadRequest(
            f"seconds must be a whole number from 1 to {MOST_SECONDS}", param="seconds"
        )
    return int(text)
