"""Whether a stream of numbers has shifted: its mean of late against its mean over a long time.

Both fade by count, not by time, so a quiet night changes nothing. What is usual goes on being
learned during a shift, slowly: what lasts becomes usual. A shift begins where the two means are far
apart, and further than chance takes a mean of so few; it ends at half of that.
"""

from math import sqrt
from typing import Final

BLOCK: Final = 8
"""Numbers that are taken in together, as their mean: most of them then cost next to nothing."""
LATE: Final = 6
"""Blocks that the mean of late is of;"""
USUAL: Final = 512
"""and those that what is usual is of, about."""
ENOUGH: Final = 50
"""Before which nothing is judged."""
SIGMAS: Final = 5.0
"""Of the mean of late by chance. Traffic comes in bursts, which are no shift."""

_GAIN: Final = 1 / LATE
_CHANCE: Final = sqrt(_GAIN / (2 - _GAIN))


class Shift:
    """`least`: what is no shift, however surely it is there."""

    __slots__ = ("_blocks", "_count", "_least", "_square", "_sum", "late", "usual")

    def __init__(self, least: float) -> None:
        self._least = least
        self._count = self._blocks = 0
        self._sum = 0.0
        self._square = 0.0
        """Mean square distance of a block from what is usual."""
        self.late = 0.0
        self.usual = 0.0

    def add(self, value: float) -> None:
        self._sum += value
        self._count += 1
        if self._count == BLOCK:
            self._take(self._sum / BLOCK)
            self._sum, self._count = 0.0, 0

    def _take(self, value: float) -> None:
        self._blocks = blocks = self._blocks + 1
        self.late += (value - self.late) * max(_GAIN, 1 / blocks)
        gain = max(1 / USUAL, 1 / blocks)
        off = value - self.usual
        self.usual += off * gain
        self._square += (off * (value - self.usual) - self._square) * gain

    @property
    def size(self) -> float:
        return self.late - self.usual

    @property
    def known(self) -> bool:
        return self._blocks >= ENOUGH

    def shifted(self, size: float, *, before: bool) -> bool:
        """Whether that is one; `before`: whether it was one before."""
        bound = max(self._least, SIGMAS * _CHANCE * sqrt(self._square))
        return self.known and size > (bound / 2 if before else bound)
