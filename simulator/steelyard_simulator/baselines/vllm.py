"""vLLM's balancing over data-parallel engines: least 4 * waiting + running.

Source: vllm/v1/engine/core_client.py, DPLBAsyncMPClient.get_core_engine_for_request, and
coordinator.py, as they were through 2025 (vllm_current.py has what came after). The front end holds
the engines' [waiting, running] counts as last published by the coordinator; publishing replaces
them, every 100 ms while they change. In between, each choice adds the number of front ends to the
chosen one's waiting count, so that a burst spreads. Equal scores go to the first engine, counted
from (engines * this front end) // front ends.

Knows: polled counts (`poll_s`, 0.1 as in vLLM), and its own choices since. Blind to prompts and
caches. Weight 4.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.replay.policy import Arrival, Options, Polled

WAITING_WEIGHT = 4
PUBLISH_INTERVAL_S = 0.1


class Vllm(Baseline):
    """cost = 4 * waiting + running"""

    name: ClassVar[str] = "vllm"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.poll_interval_s = options.parameter("poll_s", PUBLISH_INTERVAL_S)
        self._counts: dict[str, list[int]] = {}
        """[waiting, running]"""

    def joined(self, instance: Instance) -> None:
        self._counts[instance.name] = [0, 0]

    def left(self, instance: Instance) -> None:
        del self._counts[instance.name]

    def polled(self, instance: str, metrics: Polled) -> None:
        if instance in self._counts:
            self._counts[instance] = [metrics.waiting, metrics.running]

    def placed(self, claim: Claim, now: float) -> None:
        del now
        self._counts[claim.instance.name][0] += self.options.routers

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del arrival, hits, now
        size = len(self.fleet)
        start = size * self.options.router // self.options.routers
        return min(((start + step) % size for step in range(size)), key=self._cost)

    def _cost(self, row: int) -> int:
        waiting, running = self._counts[self.fleet[row].name]
        return WAITING_WEIGHT * waiting + running
