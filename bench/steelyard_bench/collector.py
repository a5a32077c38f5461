"""The garbage collector as the router sets it, for benches that time its decisions."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GC_THRESHOLDS: Final = (20_000, 20, 50)
"""As in router/steelyard_router/process.py."""


@contextmanager
def as_the_router_sets_it() -> Iterator[None]:
    """Leaves alone what was there at the start, seldom looks at all."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
