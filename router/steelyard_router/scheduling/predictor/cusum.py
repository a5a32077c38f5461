"""Whether numbers that are 0 on average have stepped to another mean: Page's cumulative sums.

Each sum takes in what a number is above, or below, by more than a slack, and never falls below 0.
A large step is seen after a few numbers, a small one after more, one odd number never.
"""

from typing import Final

MOST: Final = 1.2
"""One number counts as no more."""


class Cusum:
    """Of logarithms of how much longer something took than it should: 0.7 is twice as long. Steps
    of up to the slack are not looked for; a sum above the limit is a step.
    """

    __slots__ = ("_limit", "_slack", "fall", "rise")

    def __init__(self, slack: float, limit: float) -> None:
        self._slack = slack
        self._limit = limit
        self.rise = self.fall = 0.0

    def add(self, value: float) -> None:
        value = -MOST if value < -MOST else MOST if value > MOST else value
        rise, fall = self.rise + value - self._slack, self.fall - value - self._slack
        self.rise = rise if rise > 0.0 else 0.0
        self.fall = fall if fall > 0.0 else 0.0

    @property
    def calm(self) -> bool:
        return not self.rise and not self.fall

    @property
    def stepped(self) -> bool:
        return self.rise > self._limit or self.fall > self._limit

    def clear(self) -> None:
        self.rise = self.fall = 0.0
