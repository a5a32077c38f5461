"""The admin port: metrics, probes, status and recent decisions, over HTTP.

There is no authentication here: nothing on this port changes the router, and what it shows are
sizes, names and addresses, never prompts. It listens apart from the clients' port so that a network
policy can keep it inside the cluster. By default it is bound to the loopback.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson
from aiohttp import hdrs, web
from prometheus_client.exposition import choose_encoder

from steelyard_router.errors import BadRequest, ClientError, NoInstance
from steelyard_router.observability.exposition import slices
from steelyard_router.observability.metrics import Metrics
from steelyard_router.observability.recorder_view import record
from steelyard_router.observability.snapshot import Source
from steelyard_router.observability.status import status

DECISIONS_SHOWN = 100

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Clock = Callable[[], float]

logger = logging.getLogger(__name__)


class DecisionsOffError(ClientError):
    """/debug/decisions while none are kept."""

    status, type, code = 404, "invalid_request_error", "decisions_off"


@dataclass(frozen=True, slots=True)
class _Admin:
    source: Source
    metrics: Metrics
    clock: Clock
    wall: Clock
    scrape_timeout_s: float


_ADMIN = web.AppKey("admin", _Admin)


def make_admin_app(
    source: Source,
    *,
    clock: Clock = time.monotonic,
    wall: Clock = time.time,
    scrape_timeout_s: float = 30.0,
) -> web.Application:
    """The application of the admin port. `clock` is the router's steady clock, `wall` Unix time.

    A scraper that takes longer than `scrape_timeout_s` is cut off; Prometheus gives up after 10 s.
    """
    app = web.Application(middlewares=[_errors_as_json])
    app[_ADMIN] = _Admin(source, Metrics(source, clock), clock, wall, scrape_timeout_s)
    app.router.add_get("/metrics", _metrics, allow_head=False)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", _readyz)
    app.router.add_get("/status", _status)
    app.router.add_get("/histograms", _histograms)
    app.router.add_get("/debug/decisions", _decisions)
    app.router.add_get("/debug/record", _record, allow_head=False)
    app.on_shutdown.append(_end_recordings)
    return app


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except ClientError as error:
        return web.Response(body=error.body(), status=error.status, content_type="application/json")
    except web.HTTPException as error:
        message = f"{request.method} {request.path}: {error.reason}"
        body = {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            }
        }
        allow = error.headers.get(hdrs.ALLOW)
        return _json(body, status=error.status, headers={"Allow": allow} if allow else None)


def _json(
    value: object, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE),
        status=status,
        headers=headers,
        content_type="application/json",
    )


async def _metrics(request: web.Request) -> web.StreamResponse:
    """Written slice by slice: between two, the event loop serves requests."""
    admin = request.app[_ADMIN]
    encode, content_type = choose_encoder(request.headers.get(hdrs.ACCEPT, ""))
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: content_type})
    response.enable_compression()
    try:
        async with asyncio.timeout(admin.scrape_timeout_s):
            await response.prepare(request)
            for text in slices(admin.metrics.families(), encode):
                await response.write(text)
                await asyncio.sleep(0)
            await response.write_eof()
    except TimeoutError:
        logger.warning("a scrape of /metrics took over %g s: cut off", admin.scrape_timeout_s)
        if request.transport is not None:
            request.transport.abort()
    return response


async def _healthz(_: web.Request) -> web.Response:
    """The process lives. That it can answer is all there is to say."""
    return _json({"status": "ok"})


async def _readyz(request: web.Request) -> web.Response:
    admin = request.app[_ADMIN]
    reason = admin.source.snapshot(admin.clock()).unready
    if reason is not None:
        raise NoInstance(reason, code="not_ready")
    return _json({"status": "ready"})


async def _status(request: web.Request) -> web.Response:
    admin = request.app[_ADMIN]
    now = admin.clock()
    return _json(status(admin.source.snapshot(now), admin.source.observer, now, admin.wall()))


async def _histograms(request: web.Request) -> web.Response:
    """For the replica that judges the alerts of all."""
    admin = request.app[_ADMIN]
    return _json(admin.source.observer.measured(admin.clock()).to_dict())


async def _decisions(request: web.Request) -> web.Response:
    admin = request.app[_ADMIN]
    log = admin.source.observer.decisions
    if not log.size:
        raise DecisionsOffError(
            "decisions are not kept: set `debug: {decisions: 1000}` in the configuration file to"
            " keep the last 1000; it takes effect without a restart"
        )
    return _json(log.to_dict(_count(request), admin.clock(), admin.wall()))


async def _record(request: web.Request) -> web.StreamResponse:
    admin = request.app[_ADMIN]
    return await record(request, admin.source.observer.recorder, admin.clock, admin.wall)


async def _end_recordings(app: web.Application) -> None:
    """A server that stops waits for its answers, which for a recording would be long."""
    app[_ADMIN].source.observer.recorder.closing = True


def _count(request: web.Request) -> int:
    text = request.query.get("n", str(DECISIONS_SHOWN))
    if re.fullmatch(r"[1-9][0-9]{0,4}", text) is None:
        raise BadRequest("n must be a whole number from 1 to 99999", param="n")
    return int(text)
