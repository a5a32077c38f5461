"""What first tokens take beside the engines' steps: the way there and back, reading the prompt.

About the median of what is left between prediction and first token, of all instances together: no
answer moves it by more than a little, so that a queue nobody saw does not count for long.
"""

from typing import Final

GAIN: Final = 1 / 8
LEAST_S: Final = 2e-3
SHARE: Final = 0.25
"""An answer that is off by more than that share of it, and LEAST_S, counts as off by so much."""


class Overhead:
    """`seconds` is not below 0: an engine may be faster than was thought, but not the way to it."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def learn(self, left_s: float) -> None:
        """A first token has come so long after it should have, by the engine's steps alone."""
        most = max(LEAST_S, SHARE * self.seconds)
        off = left_s - self.seconds
        self.seconds = max(0.0, self.seconds + GAIN * max(-most, min(most, off)))
