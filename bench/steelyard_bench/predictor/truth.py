"""A predictor that need not learn: it is told what the engines' steps cost, and when that changes.

What is still wrong with predictions then is no lack of learning.
"""

from steelyard_router.scheduling.predictor import Coefficients, Observation
from steelyard_simulator.engine.profile import Profile


def costs_of(profile: Profile) -> Coefficients:
    """What a step of such an engine costs, in the router's words."""
    return Coefficients(
        base_s=profile.base_s,
        prefill_s=profile.per_prefill_token_s,
        attention_s=profile.attention_s,
        sequence_s=profile.per_sequence_s,
        context_s=profile.per_context_token_s,
    )


class Truth:
    """All instances are alike."""

    def __init__(self, profile: Profile) -> None:
        self._costs = costs_of(profile)

    def slow_down(self, factor: float) -> None:
        """From now on everything takes that many times as long."""
        self._costs = Coefficients(*(each * factor for each in self._costs))

    def join(self, instance: str) -> None: ...

    def leave(self, instance: str) -> None: ...

    def coefficients(self, instance: str) -> Coefficients:
        del instance
        return self._costs

    def trusted(self, instance: str) -> bool:
        del instance
        return True

    def pace(self, instance: str) -> float:
        del instance
        return 1.0

    def observe(self, instance: str, seen: Observation) -> None: ...
