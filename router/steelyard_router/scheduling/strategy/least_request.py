"""Fewest requests: blind to caches and to the size of prompts."""

from typing import ClassVar, Self

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.strategy.protocol import Settings


class LeastRequest:
    """cost = B"""

    name: ClassVar[str] = "LeastRequest"
    wants_outlook: ClassVar[Wish] = Wish.NEVER

    @classmethod
    def build(cls, settings: Settings) -> Self:
        del settings
        return cls()

    def cost(self, terms: Terms) -> list[float]:
        return terms.b
