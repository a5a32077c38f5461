"""EDF as it is in textbooks: the baseline that the router's `Deadline` is to be compared with.

That one knows who is too late; here such a request goes before all others, since its deadline is
the earliest, and under overload most of the time goes to those who are late anyway.
"""

from typing import ClassVar

from steelyard_router.scheduling.order import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.overdue import ENDLESS
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank


class EarliestDeadline(SortingOrder):
    """By when the first target falls due, within a class; without one, last and by arrival."""

    name: ClassVar[str] = "EarliestDeadline"

    def __init__(self) -> None:
        super().__init__(ENDLESS)

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        del at
        return 0, job.deadline_s
