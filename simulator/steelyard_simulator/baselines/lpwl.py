"""Least P-token: fewest uncached prompt tokens to compute, queued ones and this request's.

Source: gahow/agentic-kvc ("LPWL"); the LMetric artifact has the same as least-wait-token. Ties by
requests there, then in turn. It is LMetric without its second factor: blind to decoding.

Knows: its own requests (a prompt counts in full until its first byte), prompts by its own placing
(as much as each engine's cache). No constants.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.prefix import Prefixes, RoutingHistory
from steelyard_simulator.replay.policy import Arrival, Options


class Lpwl(Baseline):
    """cost = queued + own uncached tokens"""

    name: ClassVar[str] = "lpwl"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._next = 0

    def knowledge(self) -> Prefixes:
        return RoutingHistory()

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del arrival, now
        size = len(self.fleet)
        row = min(
            ((self._next + step) % size for step in range(size)),
            key=lambda row: (
                self.fleet[row].queued_tokens - hits[row],
                self.fleet[row].requests,
            ),
        )
        self._next = row + 1
        return row
