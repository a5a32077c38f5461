"""Processes of this machine, as /proc tells of them: found from those that we started, never by
name alone.
"""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def children(pid: int) -> Iterator[int]:
    """Living children of a process."""
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and _parent(int(entry.name)) == pid:
            yield int(entry.name)


def descendants(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from descendants(child)


def command(pid: int) -> list[str]:
    """Its command line; a title that it gave itself is one word. Empty once it is gone."""
    try:
        text = (PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rstrip("\0").split("\0")


def is_alive(pid: int) -> bool:
    return _parent(pid) is not None


async def kill(pid: int, *, within_s: float) -> tuple[float, float]:
    """SIGKILL. Returns when it was sent and when the process was gone, on the monotonic clock.

    In between the kernel takes its memory apart, and only then closes its sockets: a tenth of a
    second and more for a process as large as an engine.
    """
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[float] = loop.create_future()

    def note() -> None:
        if not gone.done():
            gone.set_result(time.monotonic())

    watch = os.pidfd_open(pid)
    loop.add_reader(watch, note)
    try:
        sent_s = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(within_s):
            return sent_s, await gone
    finally:
        loop.remove_reader(watch)
        os.close(watch)


def _parent(pid: int) -> int | None:
    """None when there is no such process, or only what is left of a dead one."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, parent = text.rpartition(") ")[2].split()[:2]
    return None if state == "Z" else int(parent)
