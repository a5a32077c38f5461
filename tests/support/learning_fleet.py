"""Fleets of simulated engines that a router without any knowledge learns to know.

    python -m support.learning_fleet

prints a digest of everything that became of the requests.
"""

import random
import sys
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from steelyard_router.scheduling.strategy import build
from steelyard_simulator.engine.profile import profile
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.fleet import Fleet
from steelyard_simulator.replay.scheduled import SchedulerPolicy
from steelyard_simulator.replay.source import OpenLoop

FAST: Final = profile("reference")
EQUAL: Final = (1.0, 1.0, 1.0, 1.0)
MIXED: Final = (1.0, 1.0, 2.5, 2.5)
"""How many times slower than FAST each engine is."""


def traffic(count: int, per_s: float) -> list[TraceRequest]:
    """Prompts of a few hundred to many thousand tokens, in Poisson order."""
    rng, now, requests = random.Random(3), 0.0, []
    for number in range(count):
        now += rng.expovariate(per_s)
        tokens = int(min(60_000, rng.lognormvariate(8.5, 1.0))) + 1
        blocks = (range(number * 200, number * 200 + tokens // 512),)
        requests.append(TraceRequest(now, tokens, rng.randint(20, 500), blocks))
    return requests


def play(strategy: str, count: int, slowness: Sequence[float]) -> tuple[SchedulerPolicy, Fleet]:
    """One request a second for each engine."""
    policy = SchedulerPolicy(lambda: build(strategy))
    size = len(slowness)
    requests = traffic(count, float(size))
    fleet = Fleet([FAST] * size, [policy], requests, OpenLoop(requests), slowness=slowness)
    fleet.run()
    return policy, fleet


if __name__ == "__main__":
    learned, played = play("Adaptive", 700, MIXED * 2)
    found = {load.coefficients for load in learned.scheduler.snapshot(1e6)}
    outcomes = repr((sorted(found), played.outcomes)).encode()
    sys.stdout.write(f"{len(found)} {sha256(outcomes).hexdigest()}\n")
