"""The product until the fleet's speed is known, then what a placement costs everyone.

The product needs to know nothing. The other is better when it knows what steps cost on every
candidate, and worse than the product when it is badly wrong about one of them.
"""

from typing import ClassVar, Self

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.strategy.marginal_delay import MarginalDelay
from steelyard_router.scheduling.strategy.multiplicative import Multiplicative
from steelyard_router.scheduling.strategy.protocol import Settings


class Adaptive:
    """MarginalDelay where all candidates' coefficients are trusted, else Multiplicative."""

    name: ClassVar[str] = "Adaptive"
    wants_outlook: ClassVar[Wish] = Wish.TRUSTED

    def __init__(self, before: Multiplicative, after: MarginalDelay) -> None:
        self._before = before
        self._after = after

    @classmethod
    def build(cls, settings: Settings) -> Self:
        return cls(Multiplicative.build(settings), MarginalDelay.build(settings))

    def cost(self, terms: Terms) -> list[float]:
        return (self._before if terms.outlook is None else self._after).cost(terms)
