"""How much longer a token takes on an instance than its decode step alone, because of prompts.

Engines compute prompts in the same steps, or between them. Who decodes there will meet the prompts
of requests that have not come yet; the best guess at those is what came lately. It is forgotten
with time, so that an instance that has been avoided for it gets its chance again.
"""

from math import exp
from typing import Final

from steelyard_router.scheduling.predictor.coefficients import Coefficients
from steelyard_router.scheduling.predictor.protocol import Observation

MEMORY_S: Final = 30.0
PRIOR_S: Final = 1.0
"""Seconds of decoding alone that are believed in advance."""
MOST: Final = 10.0


class Pace:
    """The ratio is 1 until something else is seen, and at most MOST."""

    __slots__ = ("_at_s", "_decode_s", "_excess", "_total_s")

    def __init__(self) -> None:
        self._total_s = 0.0
        self._decode_s = 0.0
        self._excess = 0.0
        self._at_s = 0.0

    def learn(self, seen: Observation, coefficients: Coefficients, now: float) -> None:
        """Only what was seen while something decoded tells anything."""
        if not seen.sequence_steps:
            return
        base_s, _, _, sequence_s, context_s = coefficients
        decode_s = (
            base_s * seen.steps + sequence_s * seen.sequence_steps + context_s * seen.context_steps
        )
        fade = exp(-seen.seconds / MEMORY_S)
        self._total_s = self._total_s * fade + seen.seconds
        self._decode_s = self._decode_s * fade + decode_s
        ratio = (self._total_s + PRIOR_S) / (self._decode_s + PRIOR_S)
        self._excess = min(MOST, max(1.0, ratio)) - 1.0
        self._at_s = now

    def stretch(self, now: float) -> float:
        """Time of a token / time of its step."""
        return 1.0 + self._excess * MEMORY_S / (MEMORY_S + now - self._at_s)
