"""An instance and what it has shown, beside what its class predicts.

The mean of log(time / prediction) of late, apart for time that went into prompts and into decoding,
tells slowly whether it is like the others. A step, such as a clock that drops, is told at once by
sums (cusum.py); how large it is on each side, by what was seen since they began to grow.
"""

from math import exp, log
from typing import Final

from steelyard_router.scheduling.predictor.cusum import Cusum
from steelyard_router.scheduling.predictor.fit import CEILING, FLOOR, Gram
from steelyard_router.scheduling.predictor.likeness import Likeness
from steelyard_router.scheduling.predictor.pace import Pace

MEMORY: Final = 1 - 1 / 300
"""Of an instance's equations."""
APART: Final = 0.2
"""An instance that is off its class's prediction by more, in logarithms, does not belong there."""
DRIFT_GAIN: Final = 1 / 16
SIDES: Final = ((0, 3, 4), (1, 2))
"""Terms of decoding, and of prompts."""
ENOUGH: Final = 10
"""Observations after which an instance may be told from others, or counts as known."""
SELDOM: Final = 48
"""Observations between two steps, at least."""
SLACK: Final = 0.3
LIMIT: Final = 1.1
"""Of the sums: three observations at twice the time. What is off by less is found in time."""
SIGN: Final = 0.2
"""Of a sum: about half a single observation at twice the time."""
NOTHING: Final = (0.0, 0.0, 0.0, 0.0)


class Subject:
    """One instance."""

    __slots__ = (
        "_leapt", "_sums", "drift", "gram", "known", "likeness", "pace", "seen", "step", "told",
    )  # fmt: skip

    def __init__(self, likeness: Likeness) -> None:
        self.seen = 0
        self._leapt = -SELDOM
        """Observations before it leapt last."""
        self.pace = Pace()
        self.step = Cusum(SLACK, LIMIT)
        self.enter(likeness)

    def enter(self, likeness: Likeness) -> None:
        """Be one of them, as far as is known by now."""
        likeness.members[self] = None
        self.likeness = likeness
        self.gram = Gram(MEMORY)
        self.drift = [0.0, 0.0]
        """Mean logarithm of time / prediction of late, by side,"""
        self.told = [0.0, 0.0]
        """and how many observations, or shares of them, have told it."""
        self.step.clear()
        self.known = likeness.good
        """Whether its class was good when it was last like it."""
        self._sums = NOTHING
        """While a step may be under way: logarithms and shares of both sides since it began."""

    def note(self, stretch: float, prompts: float) -> None:
        """So much longer than predicted (logarithm); prompts had that share of it."""
        told, drift, step, decode = self.told, self.drift, self.step, 1 - prompts
        told[0] += decode
        told[1] += prompts
        drift[0] += (stretch - drift[0]) * (max(DRIFT_GAIN, 1 / (1 + told[0])) * decode)
        drift[1] += (stretch - drift[1]) * (max(DRIFT_GAIN, 1 / (1 + told[1])) * prompts)
        step.add(stretch)
        if step.calm:
            self._sums = NOTHING
            self.known = self.likeness.good
        else:
            one, its_share, two, their_share = self._sums
            self._sums = (
                one + stretch * decode, its_share + decode,
                two + stretch * prompts, their_share + prompts,
            )  # fmt: skip

    def walk(self, parts: list[float], seconds: float) -> None:
        """Those parts of the work have taken so long: is that as before?"""
        pace = self.pace
        if pace.reference is not None:
            a, b, c, d, e = pace.reference
            one, two, three, four, five = parts
            told = a * one + b * two + c * three + d * four + e * five
            pace.note(log(seconds / told))
        if pace.due and self.likeness.good and self.seen >= ENOUGH:
            pace.follow(self.likeness.ratios)

    @property
    def apart(self) -> bool:
        """Whether it has shown for long enough that it is not like the others of its class."""
        pairs = zip(self.drift, self.told, strict=True)
        return any(abs(drift) > APART and told >= ENOUGH for drift, told in pairs)

    @property
    def leaps(self) -> bool:
        """Whether it has stepped away from what was known. Who steps again and again is not known
        at all.
        """
        return self.step.stepped and self.known and self.seen - self._leapt >= SELDOM

    def shows(self, other: "Subject") -> bool:
        """Whether there is a sign of the step that the other has made."""
        mine, its = self.step, other.step
        return (mine.rise if its.rise > LIMIT else mine.fall) > SIGN

    def leap(self) -> None:
        """Take what was seen since the step began for all that is to be said of this instance. Of a
        side that was hardly seen, what both have shown.
        """
        self._leapt = self.seen
        one, its_share, two, their_share = self._sums
        both = (one + two) / (its_share + their_share)
        self.drift = [(one + both) / (its_share + 1), (two + both) / (their_share + 1)]

    def distance(self, other: Likeness) -> float:
        """How far off that class is from what this one shows, in logarithms, on the worse side."""
        off = 0.0
        for drift, terms in zip(self.drift, SIDES, strict=True):
            there = self.gram.size(other.ratios, terms)
            here = self.gram.size(self.likeness.ratios, terms)
            if here and there:
                off = max(off, abs(drift - log(there / here) / 2))
        return off

    def alike(self, *, heir: bool) -> Likeness:
        """A class as this one shows itself: that of now, each side stretched by its drift."""
        ratios = list(self.likeness.ratios)
        for drift, terms in zip(self.drift, SIDES, strict=True):
            for term in terms:
                ratios[term] = min(max(ratios[term] * exp(drift), FLOOR), CEILING)
        return Likeness(ratios, heir=heir)
