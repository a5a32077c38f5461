"""How long the longer answers are: a quantile of answers that fade, in buckets of their logarithm.

It is worked out when answers come, not when a request is placed: reading costs nothing.
"""

from array import array
from math import log2
from typing import Final

SHARE: Final = 0.95
"""Of the answers that are no longer than what is told."""
ENOUGH: Final = 20
"""Answers before anything is told: of fewer, the longest twentieth is none."""
RETOLD: Final = 4
"""Answers from one telling to the next: each costs a walk through the buckets."""
MEMORY: Final = 500.0
"""Answers after which one counts 1/e."""

_PER_OCTAVE: Final = 4
_BUCKETS: Final = 80
"""Up to 2^20 tokens; longer answers count as such."""
_MOST_WEIGHT: Final = 1e12


class Upper:
    """`tokens` is None until enough answers are known. Between two edges of a bucket, which are
    19 % apart, answers are taken to be spread evenly.
    """

    __slots__ = ("_buckets", "_count", "_total", "_weight", "tokens")

    def __init__(self) -> None:
        self._buckets = array("d", bytes(8 * _BUCKETS))
        self._count = 0
        self._total = 0.0
        self._weight = 1.0
        """Of the next answer; those before it counted less, so that nothing old need be touched."""
        self.tokens: float | None = None

    def learn(self, tokens: float) -> None:
        bucket = int(log2(tokens) * _PER_OCTAVE) if tokens > 1 else 0
        self._buckets[min(bucket, _BUCKETS - 1)] += self._weight
        self._total += self._weight
        self._weight *= 1 + 1 / MEMORY
        if self._weight > _MOST_WEIGHT:
            self._rescale()
        self._count += 1
        if self._count >= ENOUGH and self._count % RETOLD == 0:
            self.tokens = self._quantile()

    def _quantile(self) -> float:
        above, bucket = (1 - SHARE) * self._total, _BUCKETS - 1
        while (held := self._buckets[bucket]) < above and bucket:
            above -= held
            bucket -= 1
        within = 1 - above / held if held else 0.0
        return float(2 ** ((bucket + within) / _PER_OCTAVE))

    def _rescale(self) -> None:
        self._buckets = array("d", (held / self._weight for held in self._buckets))
        self._total /= self._weight
        self._weight = 1.0
