"""The least TTFT by simulation of every instance: llm-d as the LMetric paper ran it.

Source: LMetric (arXiv 2603.15202), section 4.6, and its artifact (policies/least_ttft.rs): project
each engine's steps with the request at the end of its line, take the least TTFT, of equal ones the
first. Blind to what the request does to others' decoding.

Knows: its own requests with the outputs seen so far, caches by engine events, and the engine's
profile (rollout.py says how well that is known). No constants of its own.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import first_least
from steelyard_simulator.baselines.prefix import EngineEvents, Prefixes
from steelyard_simulator.baselines.rollout import ttft_s
from steelyard_simulator.replay.policy import Arrival


class LeastTtft(Baseline):
    """cost = projected TTFT"""

    name: ClassVar[str] = "least-ttft"
    wants_progress = True

    def knowledge(self) -> Prefixes:
        return EngineEvents()

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        return first_least(
            [
                ttft_s(self.options, instance, arrival, hit, now)
                for instance, hit in zip(self.fleet, hits, strict=True)
            ]
        )
