"""What the instances together look like to those who wait for any of them: one lane.

A request that waits here is bound to no instance, so its order is made on a lane that stands for
all: their mean step, the slots of all, and a slot that frees as often as one has done of late.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from steelyard_router.scheduling.order import Lane
from steelyard_router.scheduling.predictor import attended
from steelyard_router.scheduling.scheduler import InstanceLoad

MEMORY: Final = 32
"""Starts over which the time between two is averaged."""
MOST_SLOTS: Final = 64
"""Of a lane: those that free later make no difference to who goes first."""


class Prospect:
    """Learns how often a slot frees."""

    def __init__(self) -> None:
        self._gap_s = 0.1
        self._started_s: float | None = None

    def start(self, now: float) -> None:
        """A request that had waited goes."""
        if self._started_s is not None:
            self._gap_s += (now - self._started_s - self._gap_s) / MEMORY
        self._started_s = now

    def rest(self) -> None:
        """Nobody waits: what comes next does not tell how often slots free."""
        self._started_s = None

    def lane(self, loads: Sequence[InstanceLoad]) -> Lane:
        """Of one instance at least."""
        many = len(loads)
        base_s = sum(one.coefficients.decode(0, one.context_tokens) for one in loads) / many
        sequence_s = sum(one.coefficients.sequence_s for one in loads) / many
        running = sum(one.requests for one in loads)
        width = sum(one.width for one in loads if isfinite(one.width)) or running + 1
        slots = max(1, min(MOST_SLOTS, int(width)))
        return Lane(
            name="all",
            free_s=[number * self._gap_s for number in range(slots)],
            base_s=base_s + sequence_s * running / many,
        )


def prefill_s(loads: Sequence[InstanceLoad], prompt_tokens: int) -> float:
    """To compute a prompt of which nothing is cached, on the mean instance."""
    pairs = attended(prompt_tokens, prompt_tokens)
    return sum(one.coefficients.prefill(prompt_tokens, pairs) for one in loads) / len(loads)
