"""A predictor that is wrong by fixed factors, to see how much being wrong costs."""

from collections.abc import Mapping
from typing import Final, Self

from steelyard_router.scheduling.predictor import (
    Coefficients,
    Observation,
    OnlinePredictor,
    Predictor,
)

TERMS: Final = tuple(field.removesuffix("_s") for field in Coefficients._fields)
"""What can be wrong, as in `default:prefill=2`: base, prefill, attention, sequence, context."""


class Distorted:
    """Learns as the predictor does, and tells each coefficient times its factor."""

    def __init__(self, predictor: Predictor, factors: Coefficients) -> None:
        self._predictor = predictor
        self._factors = factors

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Self | None:
        """By the names in TERMS; None where none of them is given."""
        factors = [parameters.get(term, 1.0) for term in TERMS]
        if all(factor == 1 for factor in factors):
            return None
        return cls(OnlinePredictor(), Coefficients(*factors))

    def join(self, instance: str) -> None:
        self._predictor.join(instance)

    def leave(self, instance: str) -> None:
        self._predictor.leave(instance)

    def coefficients(self, instance: str) -> Coefficients:
        true = self._predictor.coefficients(instance)
        return Coefficients(*[each * by for each, by in zip(true, self._factors, strict=True)])

    def trusted(self, instance: str) -> bool:
        return self._predictor.trusted(instance)

    def pace(self, instance: str) -> float:
        return self._predictor.pace(instance)

    def observe(self, instance: str, seen: Observation) -> None:
        self._predictor.observe(instance, seen)
