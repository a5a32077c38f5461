"""Hands out jobs in turn: by class, then by a key, then by arrival; and lets in who is overdue.

One at a time, so that whoever has others to attend to can stop in between.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.overdue import Patience

Rank = tuple[int, float]
"""Less goes first."""
Key = Callable[[Job, Moment], Rank]


class Turns:
    """`since_s` seconds of work ago one that was overdue was let in."""

    def __init__(self, key: Key, at: Moment, patience: Patience, since_s: float = 0.0) -> None:
        self._key, self._at, self._patience = key, at, patience
        self._since_s = since_s
        self._count = 0
        self._regular: list[tuple[int, int, float, float, int, Job]] = []
        self._overdue: list[tuple[int, float, int, Job]] = []

    def add(self, job: Job) -> None:
        self._count += 1
        if self._patience.ends_for(job, self._at):
            heappush(self._overdue, (-job.priority, job.arrived_s, self._count, job))
        else:
            tier, value = self._key(job, self._at)
            entry = (-job.priority, tier, value, job.arrived_s, self._count, job)
            heappush(self._regular, entry)

    def __iter__(self) -> Iterator[Job]:
        while self._regular or self._overdue:
            yield self._next()

    def _next(self) -> Job:
        if self._overdue and self._let_in(self._overdue[0][0], self._overdue[0][-1]):
            self._since_s = 0.0
            return heappop(self._overdue)[-1]
        job = heappop(self._regular)[-1]
        self._since_s += job.service_s(self._at.token_s)
        return job

    def _let_in(self, rank: int, job: Job) -> bool:
        """Whether that one, the first of those that are overdue, goes next."""
        if not self._regular or rank < self._regular[0][0]:
            return True
        same = rank == self._regular[0][0]
        return same and self._at.is_due(job, self._patience.every, self._since_s)
