"""The coarse half of the decision: which instance each waiting request is planned for.

One after the other, most pressing first, each goes where it is predicted to end first, given those
planned there already. So instances fill evenly however unlike they are, and a prompt whose
beginning is cached somewhere draws its request there for as much as that is worth.

Kept true: all of a class are planned before any of a lower one.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapreplace
from math import inf
from typing import Final

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.protocol import Order
from steelyard_router.scheduling.order.turn import Turns

Prefills = Mapping[str, Sequence[float]]
"""By the key of a job, what its prompt takes on each lane; who is missing takes the same on all."""
NO_PREFILLS: Final[Prefills] = {}
FEW: Final = 8
"""Jobs in a step; some 20 us."""


class Assignment:
    """Jobs by lane, in the order in which they were planned. More may come at any time."""

    def __init__(self, lanes: Sequence[Lane], waiting: int) -> None:
        """For about so many jobs."""
        if not lanes:
            raise ValueError("no lane to assign to")
        self.jobs: list[list[Job]] = [[] for _ in lanes]
        self._slots = [list(lane.free_s) for lane in lanes]
        self._begins_s = [lane.earliest_s for lane in lanes]
        """When a prompt that is planned next begins to be computed."""
        share = -(-waiting // len(lanes))
        self._token_s = [lane.full_token_s(share) for lane in lanes]

    @property
    def token_s(self) -> float:
        """From a token to the next, on average over the lanes."""
        return sum(self._token_s) / len(self._token_s)

    def place(self, job: Job, prefill_s: Sequence[float] | None = None) -> int:
        """Plans it for a lane, and says which; of equal ones the first."""
        steps, paces = job.steps, zip(self._begins_s, self._token_s, strict=True)
        if prefill_s is None:
            ends_s = [begin_s + steps * token_s for begin_s, token_s in paces]
            best = ends_s.index(min(ends_s))
        else:
            ends_s = [
                begin_s + steps * token_s + own_s
                for (begin_s, token_s), own_s in zip(paces, prefill_s, strict=True)
            ]
            best = ends_s.index(min(ends_s))
            job = job if job.prefill_s == prefill_s[best] else job.on(prefill_s[best])
        first_s = self._begins_s[best] + job.prefill_s
        slots = self._slots[best]
        heapreplace(slots, first_s + steps * self._token_s[best])
        self._begins_s[best] = max(slots[0], first_s)
        self.jobs[best].append(job)
        return best


def assign(
    assignment: Assignment,
    jobs: Sequence[Job],
    lanes: Sequence[Lane],
    order: Order,
    *,
    now_s: float,
    prefills: Prefills = NO_PREFILLS,
) -> Iterator[None]:
    """Plans them all, those first that are first in the order. A step for every few jobs that are
    looked at, then one for every few that are planned.
    """
    earliest_s = now_s + min(lane.earliest_s for lane in lanes)
    at = Moment(now_s, earliest_s, assignment.token_s)
    turns = Turns(order.key, at, order.patience, since_s=inf)
    for number, job in enumerate(jobs):
        turns.add(job)
        if number % FEW == 0:
            yield
    for number, job in enumerate(turns):
        assignment.place(job, prefills.get(job.key))
        if number % FEW == 0:
            yield
