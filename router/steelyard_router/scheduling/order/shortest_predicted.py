"""Shortest predicted time first: the least waiting in all, and the long pay for it."""

from typing import ClassVar

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank


class ShortestPredicted(SortingOrder):
    """By prompt and expected output, whatever is due."""

    name: ClassVar[str] = "ShortestPredicted"

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        return 0, job.service_s(at.token_s)
