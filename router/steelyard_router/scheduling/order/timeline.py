"""A plan under continuous batching, made for trying thousands of neighbours of it.

What `objective.predict` says of an order, without its words: a row per job with the numbers that
matter, in the order of the plan. Of a neighbour only the part from its first change on is computed,
from snapshots taken every CHUNK places. Scores come out equal to those of `predict` up to rounding.

Kept true: the jobs of a class stay in the places of their class, those that are fixed where they
are.
"""

from collections.abc import Sequence, Set
from heapq import heapreplace
from math import inf
from random import Random
from typing import Final, NamedTuple

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.objective import Score
from steelyard_router.scheduling.order.plan import movable

CHUNK: Final = 16
SWAPPED: Final = 0.4
"""Share of neighbours that differ by a swap; the rest by one that goes back or forth."""


class Row(NamedTuple):
    """A job."""

    prefill_s: float
    decode_s: float
    latest_s: float
    """A prompt that begins later misses a target; -inf if one is missed anyway."""
    job: Job


Snapshot = tuple[list[float], float, int, float]
"""All that matters of the places before: slots, when prompts are computed, met, total_s."""


class Timeline:
    """The plan, and one neighbour of it that `accept` takes over."""

    def __init__(
        self, order: Sequence[Job], lane: Lane, now_s: float, fixed: Set[str] = frozenset()
    ) -> None:
        token_s = lane.full_token_s(len(order))
        waited_s = sum(now_s - job.arrived_s for job in order)
        self._rows = [_row(job, now_s, token_s) for job in order]
        self._movable = movable(order, fixed)
        self._width = lane.width
        self._snapshots: list[Snapshot] = [(list(lane.free_s), lane.queued_s, 0, waited_s)]
        self._neighbour = self._rows
        self.score = self._evaluate(0)
        self.accept()

    @property
    def order(self) -> list[Job]:
        return [row.job for row in self._rows]

    @property
    def settled(self) -> bool:
        return not self._movable

    def propose(self, random: Random) -> Score:
        """Two swapped, or one delayed to the next batch or squeezed into an earlier one. Under
        continuous batching the next so many as there are slots make a batch.
        """
        draw = random.random
        place, low, high = self._movable[int(draw() * len(self._movable))]
        other = low + int(draw() * (high - low))
        rows = self._neighbour = self._rows.copy()
        if draw() < SWAPPED:
            rows[place], rows[other] = rows[other], rows[place]
        else:
            if other > place + self._width:
                other = place + 1 + int(draw() * self._width)
            rows.insert(other, rows.pop(place))
        return self._evaluate(min(place, other))

    def accept(self) -> None:
        self._rows = self._neighbour
        self._snapshots[self._first :] = self._fresh

    def _evaluate(self, changed: int) -> Score:
        """The neighbour from the first changed place on; leaves in `_fresh` the snapshots from
        number `_first` on.
        """
        self._first = first = changed // CHUNK
        fresh = self._fresh = self._snapshots[first : first + 1]
        slots, line_s, met, total_s = fresh[0]
        slots = slots.copy()
        rows = self._neighbour
        for start in range(first * CHUNK, len(rows), CHUNK):
            if start > first * CHUNK:
                fresh.append((slots.copy(), line_s, met, total_s))
            for prefill_s, decode_s, latest_s, _ in rows[start : start + CHUNK]:
                if line_s < slots[0]:  # noqa: PLR1730  max() takes as long as all the rest
                    line_s = slots[0]
                if line_s <= latest_s:
                    met += 1
                line_s += prefill_s
                end_s = line_s + decode_s
                total_s += end_s
                heapreplace(slots, end_s)
        return Score(met, total_s)


def _row(job: Job, now_s: float, token_s: float) -> Row:
    latest_s = min(job.begin_by_s, job.empty_by_s - job.steps * token_s) - now_s  # as expected
    if job.tpot_s is not None and job.output_tokens > 1 and token_s > job.tpot_s:
        latest_s = -inf
    return Row(job.prefill_s, job.steps * token_s, latest_s, job)
