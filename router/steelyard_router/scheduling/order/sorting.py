"""Orders that are a key."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.overdue import PATIENCE, Patience
from steelyard_router.scheduling.order.protocol import Found, Search
from steelyard_router.scheduling.order.turn import Rank, Turns


class SortingOrder(ABC):
    """By class, then by `key`, then by arrival."""

    name: ClassVar[str]
    instant: ClassVar[bool] = True

    def __init__(self, patience: Patience = PATIENCE) -> None:
        self.patience = patience

    @staticmethod
    @abstractmethod
    def key(job: Job, at: Moment) -> Rank: ...

    def begin(self, jobs: Sequence[Job], lane: Lane, now_s: float) -> Search:
        at = Moment.of(lane, now_s, len(jobs))
        turns = Turns(self.key, at, self.patience, lane.since_overdue_s)
        for job in jobs:
            turns.add(job)
        return Found(list(turns))
