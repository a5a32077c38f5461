"""Least laxity first: by the deadline less the work that has to be done until then."""

from typing import ClassVar

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank


class LeastLaxity(SortingOrder):
    """By the latest start; who cannot make it goes behind, shortest first."""

    name: ClassVar[str] = "LeastLaxity"

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        latest_s = job.latest_start_s(at.token_s)
        if latest_s < at.earliest_s:
            return 1, job.service_s(at.token_s)
        return 0, latest_s
