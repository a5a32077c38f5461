"""Who came first goes first: the baseline, and what an engine does by itself."""

from typing import ClassVar

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.overdue import ENDLESS, Patience
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank


class FCFS(SortingOrder):
    """Nobody has to be let in, since within a class nobody is overtaken."""

    name: ClassVar[str] = "FCFS"

    def __init__(self, patience: Patience = ENDLESS) -> None:
        super().__init__(patience)

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        del at
        return 0, job.arrived_s
