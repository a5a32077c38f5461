"""What a predictor is told, and what it tells."""

from typing import NamedTuple, Protocol

from steelyard_router.scheduling.predictor.coefficients import Coefficients


class Observation(NamedTuple):
    """An instance worked for so long, and this is what it did in that time."""

    seconds: float
    steps: float
    prefill_tokens: float
    pairs: float
    sequence_steps: float
    """Decoding sequences, summed over the steps;"""
    context_steps: float
    """their context tokens, summed likewise."""


class Predictor(Protocol):
    """Knows instances by name from `join` to `leave`; anything about others is ignored."""

    def join(self, instance: str) -> None: ...

    def leave(self, instance: str) -> None: ...

    def coefficients(self, instance: str) -> Coefficients:
        """The best guess, however poor it is; finite and not negative."""
        ...

    def trusted(self, instance: str) -> bool:
        """Whether its coefficients are good enough to place requests by."""
        ...

    def pace(self, instance: str) -> float:
        """How many times as long as before its work takes, since a step; 1 where there was none."""
        ...

    def observe(self, instance: str, seen: Observation) -> None: ...
