"""vLLM's balancing over data-parallel engines as of 0.32: own requests in flight, then pressure.

Source: vllm 0.32.0, vllm/v1/engine/core_client.py, DPLBAsyncMPClient.get_core_engine_for_request:

    cost = max(front ends * own requests there, waiting + running)
           + 6 * waiting * max(0, KV usage - 0.5)

with [waiting, running, usage] as last published by the coordinator (every 100 ms while they
change) and the number of front ends added to the chosen one's waiting count in between. Equal costs
go to the first engine counted from a start that moves on by one with every request.

Knows: its own requests in flight, polled counts and KV usage (`poll_s`, 0.1 as in vLLM). Blind to
prompts and caches.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.vllm import PUBLISH_INTERVAL_S
from steelyard_simulator.replay.policy import Arrival, Options, Polled

PRESSURE_WEIGHT = 6.0
EASY_USAGE = 0.5


class VllmCurrent(Baseline):
    """cost = max(own requests, waiting + running) + 6 * waiting * max(0, KV usage - 0.5)"""

    name: ClassVar[str] = "vllm-current"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.poll_interval_s = options.parameter("poll_s", PUBLISH_INTERVAL_S)
        self._seen: dict[str, tuple[int, int, float]] = {}
        """(waiting, running, KV usage)"""
        self._start: int | None = None

    def joined(self, instance: Instance) -> None:
        self._seen[instance.name] = (0, 0, 0.0)

    def left(self, instance: Instance) -> None:
        del self._seen[instance.name]

    def polled(self, instance: str, metrics: Polled) -> None:
        if instance in self._seen:
            self._seen[instance] = (metrics.waiting, metrics.running, metrics.kv_usage)

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del arrival, hits, now
        size, options = len(self.fleet), self.options
        start = self._start
        if start is None:
            start = size * options.router // options.routers
        self._start = (start + 1) % size
        return min(((start + step) % size for step in range(size)), key=self._cost)

    def placed(self, claim: Claim, now: float) -> None:
        del now
        waiting, running, usage = self._seen[claim.instance.name]
        self._seen[claim.instance.name] = (waiting + self.options.routers, running, usage)

    def _cost(self, row: int) -> float:
        instance = self.fleet[row]
        waiting, running, usage = self._seen[instance.name]
        load = max(self.options.routers * instance.requests, waiting + running)
        return load + PRESSURE_WEIGHT * waiting * max(0.0, usage - EASY_USAGE)
