"""PolyServe: the most loaded instance that still meets the SLO, to leave a gradient of load.

Source: PolyServe (arXiv 2507.17769) as ported in the LMetric artifact (policies/polyserve2.rs):
project TTFT and TPOT on each instance; of those within both targets the highest TPOT, else the
least TPOT; equal ones: the first. The last three chosen instances are skipped while others remain
(the port's way not to act on projections that have not caught up). The artifact's TPOT is the worst
average of any request there; here it is the decode step once all that is there decodes, which its
first version used. PolyServe also bins servers by TPOT target and scales them; with one target a
workload and a fixed fleet nothing of that is left. It packs on purpose: it loses on latency by
goal, not by error.

Knows: its own requests with the outputs seen so far, caches by engine events, and the engine's
profile. Targets are the request's, where it has none 5 s and 40 ms (the port's defaults; `ttft_ms`
and `tpot_ms` replace both). `recent` 3.
"""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.prefix import EngineEvents, Prefixes
from steelyard_simulator.baselines.rollout import tpot_s, ttft_s
from steelyard_simulator.replay.policy import Arrival, Options

TTFT_MS = 5_000.0
TPOT_MS = 40.0


class Polyserve(Baseline):
    """highest projected TPOT within the SLO, else the least"""

    name: ClassVar[str] = "polyserve"
    wants_progress = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._given = options.parameters
        self._recent: deque[Instance] = deque(maxlen=int(options.parameter("recent", 3)))

    def knowledge(self) -> Prefixes:
        return EngineEvents()

    def placed(self, claim: Claim, now: float) -> None:
        del now
        self._recent.append(claim.instance)

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        everyone = range(len(self.fleet))
        rows = [row for row in everyone if self.fleet[row] not in self._recent] or everyone
        tpot = {row: tpot_s(self.options, self.fleet[row], arrival) for row in rows}
        ttft_target_s, tpot_target_s = self._targets(arrival)
        feasible = [
            row
            for row in rows
            if tpot[row] <= tpot_target_s
            and ttft_s(self.options, self.fleet[row], arrival, hits[row], now) <= ttft_target_s
        ]
        return max(feasible, key=tpot.__getitem__) if feasible else min(rows, key=tpot.__getitem__)

    def _targets(self, arrival: Arrival) -> tuple[float, float]:
        ttft_s, tpot_s = arrival.slo.ttft_s, arrival.slo.tpot_s
        if "ttft_ms" in self._given or ttft_s is None:
            ttft_s = self._given.get("ttft_ms", TTFT_MS) / 1000
        if "tpot_ms" in self._given or tpot_s is None:
            tpot_s = self._given.get("tpot_ms", TPOT_MS) / 1000
        return ttft_s, tpot_s
