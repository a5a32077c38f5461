"""The processes of the study, on cores of their own where asked; they end with this one."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.priority import put_ahead
from steelyard_operator.local.process import Child, tail

POLL_S: Final = 0.2
STOP_S: Final = 10.0
ANSWER: Final = aiohttp.ClientTimeout(total=2.0)


@dataclass(frozen=True, slots=True)
class Ground:
    """What all processes stand on.

    `steelyard` is the command that starts this product, `folder` for configurations and logs,
    `ahead` whether they run before those of others.
    """

    steelyard: Sequence[str]
    folder: Path
    http: aiohttp.ClientSession
    ahead: bool = False


@contextlib.asynccontextmanager
async def running(
    ground: Ground,
    name: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    core: int | None = None,
) -> AsyncIterator[Child]:
    """From its start to the end of the block, with a log of that name. Two that are held to a core
    must not be started at once. Raises FidelityError."""
    with _on(core):
        child = await Child.start(command, env=env or {}, log=_log(ground, name))
    try:
        if ground.ahead:
            put_ahead(child.pid)
        yield child
    finally:
        await child.stop(STOP_S)


async def until_ready(
    ground: Ground, name: str, child: Child, url: str, *, within_s: float
) -> None:
    """When the URL answers 200. Raises FidelityError with the end of the log."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while child.alive:
                if await _answers(ground.http, url):
                    return
                await asyncio.sleep(POLL_S)
    reason = f"did not come up within {within_s:.0f} s" if child.alive else "ended by itself"
    log = _log(ground, name)
    raise FidelityError(f"{name} {reason}; the end of {log}:\n{tail(log)}")


def _log(ground: Ground, name: str) -> Path:
    return ground.folder / f"{name}.log"


async def _answers(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(url, timeout=ANSWER) as response:
            return response.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False


@contextlib.contextmanager
def _on(core: int | None) -> Iterator[None]:
    """What is started in the block may use that core alone: affinity is inherited."""
    if core is None:
        yield
        return
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)
