"""The router's process, whose recordings say what was predicted for each request.

A recording (`GET /debug/record`) is the one thing that tells requests one by one. This is the
router as `steelyard router` runs it, but for a recorder that puts into each line what the router
holds against each other: what it predicted, and what it then measured.
"""

import argparse
import asyncio
import logging
import random
import secrets
import sys
from pathlib import Path
from typing import Final

import uvloop

from steelyard_router import process
from steelyard_router.app import Router
from steelyard_router.discovery.file import load_config
from steelyard_router.observability.outcome import Asked, Outcome
from steelyard_router.observability.recorder import Bounds, Json, Reading, Recorder

COMMAND: Final = (sys.executable, "-P", "-m", "steelyard_bench.predictor.teller")
"""It takes the arguments of `steelyard` that start a router."""
TOLD: Final = "prediction"
"""The part of a line that is ours."""


class TellingReading(Reading):
    """Times in seconds; the first two on the router's clock, all others from the placement on."""

    def line(self, outcome: Outcome, asked: Asked) -> Json:
        ttft_s, placed_s = outcome.ttft_s, outcome.placed_s
        told = {
            "placed_at_s": asked.at_s + placed_s,
            "ended_at_s": None if outcome.e2e_s is None else asked.at_s + outcome.e2e_s,
            "predicted": [outcome.predicted_ttft_s, outcome.predicted_tpot_s],
            "measured": [None if ttft_s is None else ttft_s - placed_s, outcome.tpot_s],
        }
        return {**super().line(outcome, asked), "instance": outcome.instance, TOLD: told}


class Teller(Recorder):
    """Its recordings tell more; whatever their names, no two have equal hashes."""

    def begin(self, name: str, now: float, seconds: float) -> Reading:
        del name
        reading = TellingReading(secrets.token_bytes(32), now, now + seconds, Bounds())
        self.readings.append(reading)
        return reading


async def run(path: Path) -> None:
    """Until SIGTERM."""
    time = asyncio.get_running_loop().time
    router = Router(load_config(path), time=time, rng=random.Random(), recorder=Teller(always=True))
    await process.run(router, path)


def main() -> None:
    """Its arguments are those of `steelyard`, as far as they start a router."""
    parser = argparse.ArgumentParser(prog="teller")
    parser.add_argument("command", choices=["router"])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--log-level", default="info")
    told = parser.parse_args()
    logging.basicConfig(level=told.log_level.upper())
    uvloop.run(run(told.config))


if __name__ == "__main__":
    main()
