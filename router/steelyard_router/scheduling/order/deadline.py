"""Earliest deadline first: nobody is late where that can be had, and long work is in the way."""

from typing import ClassVar

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank


class Deadline(SortingOrder):
    """By when the first target falls due; who cannot make it goes behind, shortest first."""

    name: ClassVar[str] = "Deadline"

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        if at.hopeless(job):
            return 1, job.service_s(at.token_s)
        return 0, job.deadline_s
