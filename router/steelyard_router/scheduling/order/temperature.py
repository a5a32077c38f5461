"""How warm a walk begins, and how it cools.

A worse plan is taken with probability exp(change / temperature). What a temperature means depends
on how large the changes are, so the first one is found from a sample of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

LOWEST: Final = 1e-9
"""Nothing worse is taken."""
HALVINGS: Final = 12
"""Of the range that it is looked for in, on a scale of ratios."""
WARM: Final = 40
"""A walk with fewer evaluations for each job has no time to cool from the first temperature: it
begins as much later in the schedule as it has less. Measured with four evaluations for each of 100
jobs: a walk that begins warm gains half of what one gains that begins cold."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`iterations` times colder by `cooling`, over `evaluations` plans in all."""

    acceptance: float = 0.8
    """Share of changes that the first temperature takes."""
    cooling: float = 0.95
    iterations: int = 100
    evaluations: int = 400

    def __post_init__(self) -> None:
        if not (0 < self.acceptance < 1 and 0 < self.cooling < 1):
            raise ValueError("acceptance and cooling are shares: above 0 and below 1")
        if self.iterations < 1 or self.evaluations < 0:
            raise ValueError("iterations must be at least 1, evaluations at least 0")

    def range(self, first: float, evaluations: int, jobs: int) -> tuple[float, float]:
        """The temperature to begin with, and the factor for every evaluation."""
        left = self.iterations * min(1.0, evaluations / (WARM * jobs))
        begin = first * self.cooling ** (self.iterations - left)
        return max(LOWEST, begin), self.cooling ** (left / evaluations)


SCHEDULE: Final = Schedule()


def calibrate(losses: Sequence[float], acceptance: float) -> float:
    """The temperature that would take that share of those changes that are for the worse."""
    worse = [loss for loss in losses if loss > LOWEST]
    if not worse:
        return LOWEST
    low = high = max(worse)
    while _taken(worse, low) > acceptance:
        low /= 2
    while _taken(worse, high) < acceptance:
        high *= 2
    for _ in range(HALVINGS):
        middle = sqrt(low * high)
        if _taken(worse, middle) < acceptance:
            low = middle
        else:
            high = middle
    return max(LOWEST, high)


def _taken(losses: Sequence[float], temperature: float) -> float:
    return sum(exp(-loss / temperature) for loss in losses) / len(losses)
