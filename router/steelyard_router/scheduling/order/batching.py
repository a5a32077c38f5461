"""A plan of batches that run to their ends one after the other: the published form of the search.

A permutation and the sizes of its batches. The neighbours are the published moves: swap two, delay
one to the next batch, squeeze one into an earlier one; and since no other move makes batches more,
some delays open a new batch in between.

Kept true: no batch has more jobs than the lane has slots, none is empty, and the jobs of a class
stay in the places of their class.
"""

from collections.abc import Sequence, Set
from math import inf
from random import Random
from typing import Final, NamedTuple

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.objective import Score
from steelyard_router.scheduling.order.plan import movable

SWAPPED: Final = 0.34
"""Share of neighbours that differ by a swap,"""
DELAYED: Final = 0.33
"""and by a delay; the rest are squeezed."""
OPENED: Final = 0.3
"""Share of delays that open a batch."""


class Row(NamedTuple):
    """A job; times from now."""

    prefill_s: float
    steps: float
    first_by_s: float
    end_by_s: float
    tpot_s: float
    job: Job


class Batches:
    """The plan, and one neighbour of it that `accept` takes over. Without `sizes`, full batches."""

    def __init__(
        self,
        order: Sequence[Job],
        lane: Lane,
        now_s: float,
        fixed: Set[str] = frozenset(),
        sizes: Sequence[int] = (),
    ) -> None:
        self._rows = [_row(job, now_s) for job in order]
        self._sizes = list(sizes) or _full(len(order), lane.width)
        self._token_s = [lane.token_s(running) for running in range(lane.width + 1)]
        self._begin_s = max(lane.free_s[-1], lane.queued_s)
        self._waited_s = sum(now_s - job.arrived_s for job in order)
        self._movable = movable(order, fixed)
        self._neighbour = self._rows, self._sizes
        self.score = self._evaluate(self._rows, self._sizes)

    @property
    def order(self) -> list[Job]:
        return [row.job for row in self._rows]

    @property
    def sizes(self) -> list[int]:
        return self._sizes.copy()

    @property
    def settled(self) -> bool:
        return len(self._rows) < 2

    def propose(self, random: Random) -> Score:
        rows, sizes = self._rows.copy(), self._sizes.copy()
        kind, width = random.random(), len(self._token_s) - 1
        moved = (kind >= SWAPPED + DELAYED and _squeeze(rows, sizes, width, random)) or (
            kind >= SWAPPED and _delay(rows, sizes, width, random)
        )
        if not moved and self._movable:
            place, low, high = self._movable[int(random.random() * len(self._movable))]
            other = low + int(random.random() * (high - low))
            rows[place], rows[other] = rows[other], rows[place]
        self._neighbour = rows, sizes
        return self._evaluate(rows, sizes)

    def accept(self) -> None:
        self._rows, self._sizes = self._neighbour

    def _evaluate(self, rows: list[Row], sizes: list[int]) -> Score:
        begin_s, total_s = self._begin_s, self._waited_s
        met = start = 0
        for size in sizes:
            token_s, first_s, last_s = self._token_s[size], begin_s, 0.0
            batch = rows[start : start + size]
            start += size
            for row in batch:
                first_s += row[0]
            for _, steps, first_by_s, end_by_s, tpot_s, _ in batch:
                end_s = first_s + steps * token_s
                total_s += end_s
                if last_s < end_s:  # noqa: PLR1730  max() takes as long as all the rest
                    last_s = end_s
                if first_s <= first_by_s and end_s <= end_by_s and token_s <= tpot_s:
                    met += 1
            begin_s = last_s
        return Score(met, total_s)


def _delay(rows: list[Row], sizes: list[int], width: int, random: Random) -> bool:
    """One goes to the next batch, or to a new one in between; not past those of a lower class."""
    place = int(random.random() * len(rows))
    batch, start = _batch_of(place, sizes)
    last = start + sizes[batch] - 1
    if rows[place].job.priority != rows[last].job.priority:
        return False
    following = batch + 1
    if following == len(sizes) or sizes[following] == width or random.random() < OPENED:
        sizes.insert(following, 0)
    rows.insert(last, rows.pop(place))
    sizes[following] += 1
    _shrink(sizes, batch)
    return True


def _squeeze(rows: list[Row], sizes: list[int], width: int, random: Random) -> bool:
    """One goes into an earlier batch that has room; not past those of a higher class."""
    place = int(random.random() * len(rows))
    batch, _ = _batch_of(place, sizes)
    roomy = [earlier for earlier in range(batch) if sizes[earlier] < width]
    if not roomy:
        return False
    earlier = roomy[int(random.random() * len(roomy))]
    target = sum(sizes[: earlier + 1])
    if rows[target].job.priority != rows[place].job.priority:
        return False
    rows.insert(target, rows.pop(place))
    sizes[earlier] += 1
    _shrink(sizes, batch)
    return True


def _batch_of(place: int, sizes: list[int]) -> tuple[int, int]:
    """The batch that has the place, and its first place."""
    batch = start = 0
    while place >= start + sizes[batch]:
        start += sizes[batch]
        batch += 1
    return batch, start


def _shrink(sizes: list[int], batch: int) -> None:
    sizes[batch] -= 1
    if not sizes[batch]:
        del sizes[batch]


def _full(count: int, width: int) -> list[int]:
    return [width] * (count // width) + [count % width] * bool(count % width)


def _row(job: Job, now_s: float) -> Row:
    first_by_s = inf if job.ttft_s is None else job.arrived_s + job.ttft_s - now_s
    end_by_s = inf if job.e2e_s is None else job.arrived_s + job.e2e_s - now_s
    tpot_s = inf if job.tpot_s is None or job.output_tokens <= 1 else job.tpot_s
    return Row(job.prefill_s, job.steps, first_by_s, end_by_s, tpot_s, job)
