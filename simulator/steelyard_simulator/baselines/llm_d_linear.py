"""llm-d's weighted scorers, as its chart ships them where nothing else is configured.

Source: llm-d-router, config/charts/routerlib/templates/_config.yaml and pkg/epp: queue-scorer 2
(1 - waiting, scaled between the least and the most of the fleet; 1 if all are equal),
kv-cache-utilization-scorer 2 (1 - usage), prefix-cache-scorer 3 (share of the prompt's blocks that
match), max-score-picker (of equal ones any).

Knows: waiting and KV usage as polled (`poll_s`, 0.05 as in llm-d), its own placing of prompts (the
approximate prefix cache: recorded at dispatch, an LRU for each endpoint as large as that engine's
cache, which it learns from cache_config_info; real blocks are 16 or 64 tokens, here the trace's).
It counts nothing of its own: what it placed since the last poll is invisible to it, as in reality.
Weights: queue 2, kv 2, prefix 3.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import any_most, falling
from steelyard_simulator.baselines.prefix import Prefixes, RoutingHistory, matched_share
from steelyard_simulator.replay.policy import Arrival, Options

POLL_INTERVAL_S = 0.05


class LlmDLinear(Baseline):
    """score = 2 * (1 - waiting) + 2 * (1 - KV usage) + 3 * hit"""

    name: ClassVar[str] = "llm-d-linear"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.poll_interval_s = options.parameter("poll_s", POLL_INTERVAL_S)
        self.queue = options.parameter("queue", 2.0)
        self.kv = options.parameter("kv", 2.0)
        self.prefix = options.parameter("prefix", 3.0)

    def knowledge(self) -> Prefixes:
        return RoutingHistory()

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        polled = [instance.polled for instance in self.fleet]
        queue = falling([each.waiting if each else 0 for each in polled], even=1.0)
        usage = [each.kv_usage if each else 0.0 for each in polled]
        scores = [
            self.queue * q + self.kv * (1 - used) + self.prefix * matched_share(arrival, hit)
            for q, used, hit in zip(queue, usage, hits, strict=True)
        ]
        return any_most(scores, self.rng)
