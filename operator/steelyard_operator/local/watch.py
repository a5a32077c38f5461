"""Notices edits of files by polling, which works on every file system and with every editor."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

_SETTLE_S = 0.1

Signature = tuple[tuple[int, int, int] | None, ...]


def signature(paths: Sequence[Path]) -> Signature:
    """Changes whenever a file is written, replaced or removed."""
    return tuple(_stamp(path) for path in paths)


async def edits(
    paths: Sequence[Path], since: Signature, *, interval_s: float
) -> AsyncIterator[None]:
    """Yields after each edit, once the files hold still: an editor may write in several steps.

    `since` is the signature from before the files were last read, so that no edit falls between.
    """
    before = since
    while True:
        await asyncio.sleep(interval_s)
        now = signature(paths)
        if now == before:
            continue
        while True:
            await asyncio.sleep(_SETTLE_S)
            settled = signature(paths)
            if settled == now:
                break
            now = settled
        before = now
        yield


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
