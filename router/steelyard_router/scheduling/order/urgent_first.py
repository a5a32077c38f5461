"""Shortest first, but those whose time is running out go before, by their deadlines.

Shortest first wastes the least time and misses what is due; earliest deadline first misses little
and lets the short wait for the long that came before. A request is worth hurrying only while it can
still make it and soon might not. So this has nearly the attainment of the one with the latencies of
the other, for the price of a sort (docs/ordering.md has the figures). Who cannot make it goes among
those in no hurry.
"""

from typing import ClassVar, Final

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.turn import Rank

SHARE: Final = 0.3
"""Less slack than that share of its target is little: the rest is for being overtaken;"""
SOON_S: Final = 1.0
"""and so is less than this, whatever the target: a slot may take as long to free."""


class UrgentFirst(SortingOrder):
    """Urgent ones by deadline, then all others by predicted time."""

    name: ClassVar[str] = "UrgentFirst"

    @staticmethod
    def key(job: Job, at: Moment) -> Rank:
        return (0, job.deadline_s) if urgent(job, at) else (1, job.service_s(at.token_s))


def urgent(job: Job, at: Moment) -> bool:
    """It can still make it, and soon might not."""
    slack_s = job.slack_s(at.earliest_s, at.token_s)
    return 0 <= slack_s < max(SOON_S, SHARE * (job.deadline_s - job.arrived_s))
