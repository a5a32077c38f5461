"""The one rule about requests that cannot meet their SLO any more, shared by all orders.

They go behind those that still can, or among those that are in no hurry, so that they take nobody's
place; but not for ever. One that has waited for `after_s` is overdue, and 1 / every of the work
that is begun is for the one that is overdue the longest. So under any load the last one gets its
turn, if it is not too dear then (price.py), and all the others together lose no more than that:
counted in starts it would be most of the time of an instance, since who is late is often who takes
long. A request without targets becomes overdue likewise.
"""

from dataclasses import dataclass
from math import inf
from typing import Final

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.moment import Moment


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, and how often."""

    after_s: float = 10.0
    every: int = 32

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError("every must be at least 1")

    def ends_for(self, job: Job, at: Moment) -> bool:
        """Whether the job is overdue."""
        if at.now_s - job.arrived_s < self.after_s:
            return False
        return job.deadline_s == inf or at.hopeless(job)


PATIENCE: Final = Patience()
ENDLESS: Final = Patience(after_s=inf)
"""Nobody is ever let in before their turn."""
