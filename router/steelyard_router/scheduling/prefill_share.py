"""How much of its time an instance gives to prompts, by those that were placed there lately.

Who decodes there will meet the prompts of requests that have not come yet; the best guess at those
is what came lately. Counted when a request is placed, and not when its prompt is seen to have been
computed: by then several routers' worth of requests would have followed it to the same instance.
"""

from math import exp
from typing import Final

MEMORY_S: Final = 10.0
MOST: Final = 0.9
"""An instance that is given more than it can do is busy with prompts, but not only."""


class PrefillShare:
    """Between 0 and MOST, fading with time."""

    __slots__ = ("_at_s", "_pairs", "_seconds", "_tokens")

    def __init__(self) -> None:
        self._seconds = self._tokens = self._pairs = 0.0
        self._at_s = 0.0

    def add(self, seconds: float, now: float, *, tokens: int = 0, pairs: int = 0) -> None:
        """A prompt that takes so long has been placed there, with so much to compute."""
        fade = exp((self._at_s - now) / MEMORY_S)
        self._seconds = self._seconds * fade + seconds
        self._tokens = self._tokens * fade + tokens
        self._pairs = self._pairs * fade + pairs
        self._at_s = now

    def at(self, now: float) -> float:
        share = self._seconds * exp((self._at_s - now) / MEMORY_S) / MEMORY_S
        return share if share < MOST else MOST

    def priced(self, prefill_s: float, attention_s: float, now: float) -> float:
        """The same by what a token and a pair cost now, whatever they cost when they came."""
        fade = exp((self._at_s - now) / MEMORY_S)
        share = (self._tokens * prefill_s + self._pairs * attention_s) * fade / MEMORY_S
        return share if share < MOST else MOST
