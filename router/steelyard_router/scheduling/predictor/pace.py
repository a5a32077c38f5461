"""Whether an instance has become slower, or faster, than it was: a step in what its steps cost.

A GPU whose clock is throttled takes longer for everything at once. The predictor follows within a
few observations, so its own errors show that for a moment only. Here what the instance does is held
against what it did before: the coefficients of calm times, which follow slowly, and not at all
while it is off them.
"""

from math import exp
from typing import Final

from steelyard_router.scheduling.predictor.cusum import MOST, Cusum

SLACK: Final = 0.15
LIMIT: Final = 1.5
"""Of the sums: three observations at twice the time."""
BACK: Final = 0.12
"""Nearer to what it was, in logarithms, it is as it was."""
GAIN: Final = 1 / 8
FOLLOW: Final = 32
"""Observations in calm times after which the reference follows, by such a share of the way:"""
FOLLOW_SHARE: Final = 1 / 8
ADOPT: Final = 4096
"""Observations after which a step is what is usual: about an hour of traffic."""


class Pace:
    """Of one instance. `reference` holds ratios as the predictor's; None until `follow` is called,
    which is to be done at an observation while it is `due` and the predictor can be relied on.
    """

    __slots__ = ("_mean", "_seen", "_sums", "reference", "stepped")

    def __init__(self) -> None:
        self.reference: list[float] | None = None
        self.stepped = False
        self._mean = 0.0
        self._seen = 0
        self._sums = Cusum(SLACK, LIMIT)

    @property
    def ratio(self) -> float:
        """How many times as long as before it takes; 1 while it is as it was."""
        return exp(self._mean) if self.stepped else 1.0

    def note(self, stretch: float) -> None:
        """It took that much longer than by the reference (logarithm)."""
        stretch = -MOST if stretch < -MOST else MOST if stretch > MOST else stretch
        self._seen += 1
        self._mean += (stretch - self._mean) * GAIN
        sums = self._sums
        sums.add(stretch)
        if not self.stepped and sums.stepped:
            self.stepped, self._seen = True, 0
            self._mean = stretch if abs(stretch) > abs(self._mean) else self._mean
        elif self.stepped and abs(self._mean) < BACK:
            self._calm()

    @property
    def due(self) -> bool:
        return self.reference is None or self._seen >= (ADOPT if self.stepped else FOLLOW)

    def follow(self, ratios: list[float]) -> None:
        """What the predictor has learned by now."""
        reference = self.reference
        if reference is None or self.stepped:
            self.reference = list(ratios)
            self._mean = 0.0
            self._calm()
        else:
            self._seen = 0
            self.reference = [
                old + (new - old) * FOLLOW_SHARE for old, new in zip(reference, ratios, strict=True)
            ]

    def _calm(self) -> None:
        self.stepped, self._seen = False, 0
        self._sums.clear()
