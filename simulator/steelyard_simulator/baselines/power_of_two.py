"""Two different instances at random, of which the one with fewer requests.

Source: sglang-router and vllm-router, `power_of_two`. Both ask the engines' /get_load, which plain
OpenAI servers lack, and then fall back to their own counts or to chance; here it is their own
counts, the reading that is better for it. Of two equal ones the first drawn.

Knows: its own requests in flight. No constants.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.replay.policy import Arrival


class PowerOfTwo(Baseline):
    """choice = the less loaded of two"""

    name: ClassVar[str] = "power-of-two"

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del arrival, hits, now
        if len(self.fleet) == 1:
            return 0
        drawn = self.rng.sample(range(len(self.fleet)), 2)
        return min(drawn, key=lambda row: self.fleet[row].requests)
