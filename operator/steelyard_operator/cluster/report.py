"""Asks the routers of a service what they run and what they measured: GET /status of each pod.

All at once, each within a short time and a bounded size. A router that does not answer is a report
as well: not reachable.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import aiohttp
import orjson

from steelyard_operator.plan.child.name import ADMIN_PORT
from steelyard_operator.plan.status.observed import RouterReport
from steelyard_router.kube.resource import Object

TIMEOUT = aiohttp.ClientTimeout(total=2.0)
MAX_BYTES = 4 * 1024 * 1024

Fetch = Callable[[str], Awaitable[bytes]]
"""Gets a URL. Raises OSError, TimeoutError, aiohttp.ClientError or ValueError."""

Ask = Callable[[Iterable[Object]], Awaitable[tuple[RouterReport, ...]]]
"""The seam: what reconciles need of this module."""


class HttpFetch:
    """Fetch over one session."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def __call__(self, url: str) -> bytes:
        async with self._session.get(url, timeout=TIMEOUT, raise_for_status=True) as response:
            body = bytearray()
            async for part in response.content.iter_chunked(65536):
                body += part
                if len(body) > MAX_BYTES:
                    raise ValueError(f"{url} says more than {MAX_BYTES} bytes")
            return bytes(body)


async def router_reports(fetch: Fetch, pods: Iterable[Object]) -> tuple[RouterReport, ...]:
    """One for each pod that has an address and is not on its way out, in the order of names."""
    asked = [pod for pod in pods if _address(pod) is not None and not _ends(pod)]
    reports = await asyncio.gather(*(_report(fetch, pod) for pod in asked))
    return tuple(sorted(reports, key=lambda report: report.pod))


async def _report(fetch: Fetch, pod: Object) -> RouterReport:
    name, ready = pod["metadata"]["name"], _ready(pod)
    address = _address(pod) or ""
    host = f"[{address}]" if ":" in address else address
    try:
        status = orjson.loads(await fetch(f"http://{host}:{ADMIN_PORT}/status"))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        status = None
    if not isinstance(status, dict):
        return RouterReport(name, None, ready, reachable=False)
    return RouterReport(
        pod=name,
        revision=_text(status.get("revision")),
        ready=ready,
        holder=status.get("holder") is True,
        config_error=_text(status.get("config_error")),
        status=status,
    )


def _text(value: Any) -> str | None:  # noqa: ANN401 (whatever a router says)
    return value if isinstance(value, str) and value else None


def _address(pod: Object) -> str | None:
    return (pod.get("status") or {}).get("podIP") or None


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(row.get("type") == "Ready" and row.get("status") == "True" for row in conditions)


def _ends(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
