"""The processes of a benchmark: dummy engines and routers, started together and ended together."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.target import HOST, Site, Target, make
from steelyard_operator.local.port import free_port
from steelyard_operator.local.process import Child, tail

START_S = 60.0
POLL_S = 0.1
STOP_S = 3.0


@dataclass(frozen=True, slots=True)
class Running:
    """A target that serves; `pid` is None where no router is between client and engine."""

    target: Target
    pid: int | None


@contextlib.asynccontextmanager
async def running(
    labels: Sequence[str],
    *,
    engines: int,
    steelyard: Sequence[str],
    peers: Path | None,
    folder: Path,
    http: aiohttp.ClientSession,
) -> AsyncIterator[list[Running]]:
    """All targets, from when all serve until the block ends. Raises WireError."""
    async with contextlib.AsyncExitStack() as stack:
        urls = [await _engine(stack, number, folder, http) for number in range(engines)]
        site = Site(urls, steelyard, peers, folder)
        found: list[Running] = []
        for label in labels:
            target, pid = make(label, site), None
            if target.command:
                child = await _start(stack, target.command, folder / f"{label}.log")
                await _until_ready(http, target.ready_url, child, folder / f"{label}.log", label)
                pid = child.pid
            found.append(Running(target, pid))
        yield found


async def _engine(
    stack: contextlib.AsyncExitStack, number: int, folder: Path, http: aiohttp.ClientSession
) -> str:
    port, log = free_port(HOST), folder / f"engine-{number}.log"
    url = f"http://{HOST}:{port}"
    command = [sys.executable, "-P", "-m", "steelyard_bench.wire.dummy", "--port", str(port)]
    child = await _start(stack, command, log)
    await _until_ready(http, f"{url}/health", child, log, f"dummy engine {number}")
    return url


async def _start(stack: contextlib.AsyncExitStack, command: Sequence[str], log: Path) -> Child:
    child = await Child.start(command, env={}, log=log)
    stack.push_async_callback(child.stop, STOP_S)
    return child


async def _until_ready(
    http: aiohttp.ClientSession, url: str, child: Child, log: Path, name: str
) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_S):
            while child.alive:
                with contextlib.suppress(aiohttp.ClientError):
                    async with http.get(url) as answer:
                        if answer.status == 200:
                            return
                await asyncio.sleep(POLL_S)
    reason = f"did not come up within {START_S:.0f} s" if child.alive else "ended by itself"
    raise WireError(f"{name} {reason}; the end of its log:\n{tail(log)}")
