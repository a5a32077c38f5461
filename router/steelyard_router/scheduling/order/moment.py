"""What a key may know beside the job: when it is, and what the instance is like then."""

from typing import NamedTuple

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane


class Moment(NamedTuple):
    """Of one lane, while so many wait for it."""

    now_s: float
    earliest_s: float
    """On the same clock: when a prompt that is let in next begins to be computed."""
    token_s: float
    """From a token to the next, as long as all of them wait."""

    @classmethod
    def of(cls, lane: Lane, now_s: float, waiting: int) -> "Moment":
        return cls(now_s, now_s + lane.earliest_s, lane.full_token_s(waiting))

    def is_due(self, job: Job, every: int, since_s: float) -> bool:
        """Whether one of so many parts of the work is the job's, so much work after its kind had
        one.
        """
        return since_s >= (every - 1) * job.service_s(self.token_s)

    def hopeless(self, job: Job) -> bool:
        """Whether it misses a target even if it goes next."""
        return job.latest_start_s(self.token_s) < self.earliest_s
