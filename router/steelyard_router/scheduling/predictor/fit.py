"""Non-negative least squares that never ends: normal equations that fade, solved a sweep at a time.

Unknowns are ratios to a centre, and every equation is divided by what the model predicts for it:
features are then the shares that the terms have in the prediction, the target is how many times
longer it took, and errors are relative. A sweep of coordinate descent takes a microsecond or two
and keeps every ratio above its floor by itself; between two observations little changes, so two
sweeps each are enough to follow.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

TERMS: Final = 5
FLOOR: Final = 1 / 64
"""No ratio falls below: a term that was never seen to cost anything may still do so tomorrow."""
CEILING: Final = 1e6


class Gram:
    """Sums over the equations: each weighs `memory` times what the next one does."""

    __slots__ = ("_memory", "square", "sums", "weight")

    def __init__(self, memory: float) -> None:
        self._memory = memory
        self.sums = [0.0] * (TERMS * (TERMS + 1))
        """Row by row: products of a term with every term, then with the target."""
        self.square = 0.0
        """Of the targets."""
        self.weight = 0.0

    def add(self, products: list[float], target: float, weight: float) -> None:
        memory = self._memory
        self.sums = [memory * old + new for old, new in zip(self.sums, products, strict=True)]
        self.square = memory * self.square + weight * target * target
        self.weight = memory * self.weight + weight

    def merge(self, other: "Gram") -> None:
        self.sums = [one + two for one, two in zip(self.sums, other.sums, strict=True)]
        self.square += other.square
        self.weight += other.weight

    def fits(self, ratios: list[float]) -> tuple[float, float]:
        """How those ratios explain the equations: by which factor they should all be larger, and
        the root of the mean square error, relative to the targets'.
        """
        width = TERMS + 1
        told = sum(ratios[term] * self.sums[term * width + TERMS] for term in range(TERMS))
        meant = self.size(ratios, range(TERMS))
        if not self.square or not meant:
            return 1.0, 0.0
        return told / meant, sqrt(max(0.0, 1 + (meant - 2 * told) / self.square))

    def size(self, ratios: list[float], terms: Iterable[int]) -> float:
        """Sum of the squares of what those terms make of the equations with those ratios."""
        width, chosen = TERMS + 1, tuple(terms)
        return sum(
            ratios[row] * ratios[term] * self.sums[row * width + term]
            for row in chosen
            for term in chosen
        )


def products(features: list[float], target: float, weight: float) -> list[float]:
    """One equation's part in the sums."""
    row, weighted = [*features, target], [weight * each for each in features]
    return [each * other for each in weighted for other in row]


def sweep(ratios: list[float], gram: Gram, centre: list[float], strengths: Sequence[float]) -> None:
    """One round of coordinate descent towards the least squares solution, which is pulled to
    `centre` as if by `strengths` equations of each term alone.
    """
    sums, start = gram.sums, 0
    one, two, three, four, five = ratios
    for term in range(TERMS):
        a, b, c, d, e, target = sums[start : start + TERMS + 1]
        own, now = sums[start + term], ratios[term]
        start += TERMS + 1
        rest = target - a * one - b * two - c * three - d * four - e * five + own * now
        pull = strengths[term]
        ratio = (rest + pull * centre[term]) / (own + pull)
        ratios[term] = FLOOR if ratio < FLOOR else CEILING if ratio > CEILING else ratio
        one, two, three, four, five = ratios
