"""Picking among instances: the extremes, what decides between equal ones, and normalisation.

Systems differ in what they do with equal scores, and it matters: with nothing to tell idle
instances apart, "the first" piles a burst on one of them.
"""

from collections.abc import Sequence
from random import Random


def first_least(costs: Sequence[float]) -> int:
    """The row of the least cost; of equal ones the first."""
    return min(range(len(costs)), key=costs.__getitem__)


def first_most(scores: Sequence[float]) -> int:
    """The row of the highest score; of equal ones the first."""
    return max(range(len(scores)), key=scores.__getitem__)


def any_least(costs: Sequence[float], rng: Random) -> int:
    """The row of the least cost; one of the equal ones at random."""
    return _any(costs, min(costs), rng)


def any_most(scores: Sequence[float], rng: Random) -> int:
    """The row of the highest score; one of the equal ones at random."""
    return _any(scores, max(scores), rng)


def rising(values: Sequence[float], even: float) -> list[float]:
    """Each value's place between the least (0) and the highest (1); all `even` if all are equal."""
    low, high = min(values), max(values)
    if low == high:
        return [even] * len(values)
    return [(value - low) / (high - low) for value in values]


def falling(values: Sequence[float], even: float) -> list[float]:
    """The same from the highest (0) to the least (1)."""
    return rising([-value for value in values], even)


def _any(values: Sequence[float], wanted: float, rng: Random) -> int:
    rows = [row for row, value in enumerate(values) if value == wanted]
    return rows[0] if len(rows) == 1 else rng.choice(rows)
