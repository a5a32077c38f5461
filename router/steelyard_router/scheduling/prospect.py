"""What the instances together look like to those who wait for any of them: one lane.

A request that waits here is bound to no instance, so its order is made on a lane that stands for
all: their mean step, the slots of all, and a slot that frees as often as one has done of late.
"""

from collections.abc import Sequence
from math import inf, isfinite
from typing import Final

from steelyard_router.scheduling.order import Lane
from steelyard_router.scheduling.predictor import PRIOR, Coefficients
from steelyard_router.scheduling.scheduler import InstanceLoad, Scheduler

MEMORY: Final = 32
"""Starts over which the time between two is averaged."""
MOST_SLOTS: Final = 64
"""Of a lane: those that free later make no difference to who goes first."""
FRESH_S: Final = 0.1
"""How long a look at the instances holds: it costs as much as a decision."""


class Prospect:
    """Learns how often a slot frees, and knows the mean instance."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._gap_s = 0.1
        self._started_s: float | None = None
        self._looked_s = -inf
        self._loads: list[InstanceLoad] = []
        self.costs = PRIOR
        """Of the mean instance; to be read after look()."""

    def start(self, now: float) -> None:
        """A request that had waited goes."""
        if self._started_s is not None:
            self._gap_s += (now - self._started_s - self._gap_s) / MEMORY
        self._started_s = now

    def rest(self) -> None:
        """Nobody waits: what comes next does not tell how often slots free."""
        self._started_s = None

    def look(self, now: float) -> None:
        if now - self._looked_s < FRESH_S:
            return
        self._looked_s, self._loads = now, self._scheduler.snapshot(now)
        if self._loads:
            self.costs = mean([one.coefficients for one in self._loads])

    def lane(self, since_overdue_s: float = 0.0) -> Lane:
        """As it was at the last look."""
        loads, many = self._loads, max(1, len(self._loads))
        context = sum(one.context_tokens for one in loads) / many
        running = sum(one.requests for one in loads)
        width = sum(one.width for one in loads if isfinite(one.width)) or running + 1
        slots = max(1, min(MOST_SLOTS, int(width)))
        costs = self.costs
        return Lane(
            name="all",
            free_s=[number * self._gap_s for number in range(slots)],
            base_s=costs.decode(0, context) + costs.sequence_s * running / many,
            since_overdue_s=since_overdue_s,
        )


def mean(every: Sequence[Coefficients]) -> Coefficients:
    return Coefficients(*[sum(column) / len(every) for column in zip(*every, strict=True)])
