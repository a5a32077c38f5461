"""Starts `steelyard up` the way a user does, as a process of its own, and ends it again."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from steelyard_bench.scene import DemoError
from steelyard_bench.watch import fetch
from steelyard_operator.local.port import free_port

HOST = "127.0.0.1"
START_S = 60.0
STOP_S = 20.0
LIFETIME_S = 600
"""`up --for`: should this process die without a word, what it started still ends."""
POLL_S = 0.2
LOG_LINES = 15


@dataclass(frozen=True, slots=True)
class Stack:
    """A running service: where clients go, and where its router can be asked."""

    url: str
    admin_url: str


@contextlib.asynccontextmanager
async def up(
    steelyard: Sequence[str],
    manifests: Sequence[Path],
    *,
    model: str,
    engines: int,
    folder: Path,
    http: aiohttp.ClientSession,
) -> AsyncIterator[Stack]:
    """The service of the manifests, from when `engines` engines serve the model until the block
    ends.

    `steelyard` is the command that starts this product; its logs go to `folder`, which must exist.
    Raises DemoError with the end of the log when it does not come up.
    """
    port, admin_port = free_port(HOST), free_port(HOST)
    stack = Stack(f"http://{HOST}:{port}", f"http://{HOST}:{admin_port}")
    command = [
        *(*steelyard, "up", *map(str, manifests), "--no-table", "--for", str(LIFETIME_S)),
        *("--port", str(port), "--admin-port", str(admin_port), "--grace", "5"),
        *("--run-dir", str(folder)),
    ]
    log = folder / "up.log"
    give_up_s = time.monotonic() + START_S
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output)
        try:
            while not await _serves(http, stack, model, engines):
                if process.returncode is not None or time.monotonic() > give_up_s:
                    raise DemoError(_failure(process.returncode, log))
                await asyncio.sleep(POLL_S)
            yield stack
        finally:
            await _stop(process)


async def _serves(http: aiohttp.ClientSession, stack: Stack, model: str, engines: int) -> bool:
    """Whether the router is ready and knows the model on that many healthy engines."""
    status = await fetch(http, stack.admin_url)
    if status is None or not status.ready:
        return False
    return sum(one.healthy and model in one.models for one in status.instances) >= engines


def _failure(returncode: int | None, log: Path) -> str:
    reason = f"did not come up within {START_S:.0f} s" if returncode is None else "ended by itself"
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    return "\n".join([f"`steelyard up` {reason}; its last lines:", *lines])


async def _stop(process: asyncio.subprocess.Process) -> None:
    """In good order first; nothing is left running either way.

    By SIGTERM: where this runs in the background of a script, its children ignore SIGINT.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
