"""The near future of one instance, as far as an order has to know it.

An instance runs so many requests at once (its slots). A request that waits starts when a slot
frees, its prompt is computed after those before it, and its tokens come as fast as the instance is
full.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


def slots(ends_s: Iterable[float], window: int) -> list[float]:
    """When each slot of a window frees, in order, from when each running request ends.

    With more running than the window allows, the first ends free no slot.
    """
    ends = sorted(max(0.0, end) for end in ends_s)
    return [0.0] * (window - len(ends)) + ends[max(0, len(ends) - window) :]


@dataclass(slots=True)
class Lane:
    """Never changed. Times are seconds from now."""

    name: str
    free_s: list[float]
    """When each slot frees: sorted, at least one, 0 if it is free."""
    base_s: float
    """From a token to the next, whoever runs;"""
    sequence_s: float = 0.0
    """more for each that runs."""
    queued_s: float = 0.0
    """Until the prompts that are there are computed."""
    since_overdue_s: float = 0.0
    """Work begun here since an overdue request was let in (overdue.py)."""

    def __post_init__(self) -> None:
        if not self.free_s:
            raise ValueError(f"lane {self.name} has no slot: leave it out")

    @property
    def width(self) -> int:
        return len(self.free_s)

    @property
    def earliest_s(self) -> float:
        """Until a request that is let in next has its prompt computed."""
        return max(self.free_s[0], self.queued_s)

    def token_s(self, running: int) -> float:
        return self.base_s + self.sequence_s * running

    def full_token_s(self, waiting: int) -> float:
        """While as many run as the slots allow, or as there are."""
        busy = self.width - bisect_right(self.free_s, 0.0)
        return self.token_s(min(self.width, busy + waiting))
