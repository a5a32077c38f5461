"""Any instance, with equal chance: the floor under every other policy.

Knows the members. LLM routers ship it as `random`; no constants.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.replay.policy import Arrival


class UniformRandom(Baseline):
    """choice = uniform"""

    name: ClassVar[str] = "random"

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del arrival, hits, now
        return self.rng.randrange(len(self.fleet))
