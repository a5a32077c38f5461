"""AIBrix prefix-cache: the best match among those that are not busier than usual.

Source: aibrix, pkg/plugins/gateway/algorithms/prefix_cache.go, and the same rule in the LMetric
artifact (docs/dsl/policies.md):

- If most - least requests > 8, only the least loaded instances may match.
- Of those that match at all, by share of matching blocks in whole percent, then fewest requests,
  then any: the first with requests <= mean + 1 standard deviation of all.
- If there is none, the fewest requests of all; of equal ones any.

Newer versions gate on most > 2 * (mean + 1) and most - least >= 8 instead (`factor=2` adds the
first condition).

Knows: its own requests in flight, prompts by its own placing: 200,000 blocks of 128 characters an
instance (6.4 million tokens at 4 characters each), least recently used first out; entries unused
for 20 minutes go too, which is left out here: engines hold less than that. Parameters: gap 8,
deviations 1, factor 0.
"""

from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import any_least
from steelyard_simulator.baselines.prefix import Prefixes, RoutingHistory, matched_share
from steelyard_simulator.replay.policy import Arrival, Options

INDEX_TOKENS = 200_000 * 128 // 4


class AibrixPrefixCache(Baseline):
    """best match with requests <= mean + deviation, else fewest requests"""

    name: ClassVar[str] = "aibrix-prefix-cache"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.gap = options.parameter("gap", 8)
        self.factor = options.parameter("factor", 0)
        self.deviations = options.parameter("deviations", 1)

    def knowledge(self) -> Prefixes:
        return RoutingHistory(INDEX_TOKENS)

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        loads = [instance.requests for instance in self.fleet]
        rows = self._open_to_match(loads)
        percent = [int(100 * matched_share(arrival, hit)) for hit in hits]
        matched = [row for row in rows if hits[row]]
        self.rng.shuffle(matched)
        matched.sort(key=lambda row: (-percent[row], loads[row]))
        bound = fmean(loads) + self.deviations * pstdev(loads)
        fitting = (row for row in matched if loads[row] <= bound)
        found = next(fitting, None)
        return any_least(loads, self.rng) if found is None else found

    def _open_to_match(self, loads: Sequence[int]) -> Sequence[int]:
        everyone = range(len(loads))
        most, least = max(loads), min(loads)
        if most - least <= self.gap or (self.factor and most <= self.factor * (fmean(loads) + 1)):
            return everyone
        return [row for row in everyone if loads[row] == least]
