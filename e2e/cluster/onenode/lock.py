"""One at a time: two runs in one checkout build into the same folders."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onenode.phase import log


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Waits for another process that holds it. The kernel takes it from one that dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("another run is busy in %s; waiting ...", path.parent)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
