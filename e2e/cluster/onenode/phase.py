"""Says what is being done and how long it took: a silent minute looks like a hang."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("onenode")


@contextmanager
def shown() -> Iterator[None]:
    """What is logged in the block is on standard error, whatever else is done with logs."""
    handler = logging.StreamHandler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def phase(what: str) -> Iterator[None]:
    """Logs the duration of the block, also when it fails."""
    began_s = time.monotonic()
    try:
        yield
    finally:
        log.info("%s: %.1f s", what, time.monotonic() - began_s)
