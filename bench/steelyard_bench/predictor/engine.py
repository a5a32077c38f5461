"""Two engines behind a live router: real ones, each held to a core, or simulated ones."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from steelyard_bench.fidelity.engine import Engine, Site, real_engines, simulated_engines
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.predictor.play import PROFILE
from steelyard_simulator.engine.profile import profile

Start = Callable[[Ground], AbstractAsyncContextManager[list[Engine]]]
"""They serve until the block ends."""

ENGINES: Final = 2
LIMITS: Final = Limits(step_tokens=2048, sequences=16, model_tokens=8192)
"""A step of vLLM's holds as much by default on a CPU."""


def real(site: Site) -> Start:
    """Those installed there."""

    @asynccontextmanager
    async def start(ground: Ground) -> AsyncIterator[list[Engine]]:
        cores = sorted(os.sched_getaffinity(0))[:ENGINES]
        if len(cores) < ENGINES:
            raise FidelityError(f"this needs {ENGINES} cores, one for each engine")
        async with real_engines(ground, site, LIMITS, cores) as engines:
            yield engines

    return start


@asynccontextmanager
async def simulated(ground: Ground) -> AsyncIterator[list[Engine]]:
    """Processes of the simulated engine. Raises FidelityError."""
    file = ground.folder / "profile.json"
    file.write_text(profile(PROFILE).to_json(), encoding="utf-8")
    async with simulated_engines(ground, file, speed=1.0, count=ENGINES) as engines:
        yield engines
