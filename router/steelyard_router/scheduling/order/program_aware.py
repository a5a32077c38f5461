"""Who has been given least goes first, by session: a long program does not hold short ones up.

Requests of one session depend on each other, so what its user waits for is their sum. Sessions that
have had little are near their end or new; serving them first shortens most programs (least attained
service). Requests whose time is running out still go before, by deadline, as in UrgentFirst.
"""

from typing import ClassVar

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank
from steelyard_router.scheduling.order.urgent_first import UrgentFirst


class ProgramAware(SortingOrder):
    """Urgent ones by deadline, then sessions by what they have had."""

    name: ClassVar[str] = "ProgramAware"

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        tier, value = UrgentFirst.key(job, at)
        return (tier, value) if tier == 0 else (1, job.attained_tokens)
