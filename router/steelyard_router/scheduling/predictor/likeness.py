"""Instances that behave alike, and their common fit.

So a fleet of equals learns as many times faster as it has members, and equals stay exactly equal:
ties between them are broken by load, not by noise.
"""

from typing import TYPE_CHECKING, Final

from steelyard_router.scheduling.predictor.coefficients import PRIOR, Coefficients
from steelyard_router.scheduling.predictor.fit import Gram, sweep

if TYPE_CHECKING:
    from steelyard_router.scheduling.predictor.subject import Subject

MEMORY: Final = 1 - 1 / 2000
"""Of the equations, which come from all members."""
STRENGTHS: Final = (1.0, 0.03, 1.0, 1.0, 1.0)
"""Equations of a term alone that what was believed of it before is worth, in the order of
Coefficients. Little for a prompt's token: an engine may be many times off the prior there, and in
most equations prompts have a tenth of the time. All others that weak cost mixed fleets a point of
TPOT.
"""
ERROR_GAIN: Final = 1 / 32
ENOUGH: Final = 48
"""Observations after which a class counts as known,"""
PREFILL_ENOUGH: Final = 0.5
"""if so much of them (sum of squared shares, by the fit) shows what prompts cost"""
GOOD: Final = 0.2
"""and the usual error is no more than this. It is not any more"""
BAD: Final = 0.35
"""from here on."""


class Likeness:
    """A class of instances. `heir`: it began as a known class at another pace, and is known too."""

    __slots__ = (
        "_heir", "centre", "coefficients", "error", "good", "gram", "members", "ratios",
    )  # fmt: skip

    def __init__(self, centre: list[float], *, heir: bool = False) -> None:
        self.centre = centre
        """Ratios to PRIOR that are believed before anything is seen."""
        self.ratios = list(centre)
        self.coefficients = _scaled(centre)
        self.gram = Gram(MEMORY)
        self.members: dict[Subject, None] = {}
        """In order of entry: a set would add up their sums in another order every time."""
        self.error = GOOD if heir else 0.5
        """The usual one, relative."""
        self.good = heir
        self._heir = heir

    def solve(self, sweeps: int) -> None:
        for _ in range(sweeps):
            sweep(self.ratios, self.gram, self.centre, STRENGTHS)
        self.coefficients = _scaled(self.ratios)

    def judge(self, miss: float) -> None:
        """Learn how large errors are, and from it whether the fit can be relied on."""
        self.error += (miss - self.error) * ERROR_GAIN
        gram = self.gram
        shown = self.ratios[1] * self.ratios[1] * gram.sums[7]
        known = self._heir or (gram.weight >= ENOUGH and shown >= PREFILL_ENOUGH)
        self.good = known and self.error <= (BAD if self.good else GOOD)

    def recount(self) -> None:
        """From its members alone, after one has come or gone."""
        self.gram = Gram(MEMORY)
        for member in self.members:
            self.gram.merge(member.gram)


def _scaled(ratios: list[float]) -> Coefficients:
    one, two, three, four, five = ratios
    base, prefill, attention, sequence, context = PRIOR
    return Coefficients(
        one * base, two * prefill, three * attention, four * sequence, five * context
    )
