"""What else ran on the machine meanwhile: a figure of a disturbed run says little. Linux only."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard_bench.wire.meter import TICKS_PER_S, Meter

STAT: Final = Path("/proc/stat")


@dataclass(slots=True)
class Others:
    """Cores that processes which are not ours kept busy, in the mean: such as run at the usual
    priority, and such as give way to them."""

    usual: float = 0.0
    niced: float = 0.0

    def to_dict(self) -> dict[str, float]:
        return {"usual": round(self.usual, 3), "niced": round(self.niced, 3)}


@contextmanager
def watched() -> Iterator[Others]:
    """Complete when the block has ended. Our own processes may not begin or end inside of it."""
    found, meter = Others(), Meter(os.getpid())
    meter.start()
    began_s, before = time.monotonic(), _ticks()
    yield found
    meter.stop()
    wall_s = time.monotonic() - began_s
    user, niced, system = (now - was for now, was in zip(_ticks(), before, strict=True))
    assert meter.cpu_s is not None
    found.niced = niced / TICKS_PER_S / wall_s
    found.usual = max(0.0, (user + system) / TICKS_PER_S - meter.cpu_s) / wall_s


def _ticks() -> tuple[int, int, int]:
    """Spent since the start of the machine: at usual priority, below it, in the kernel."""
    user, niced, system = STAT.read_text().splitlines()[0].split()[1:4]
    return int(user), int(niced), int(system)
