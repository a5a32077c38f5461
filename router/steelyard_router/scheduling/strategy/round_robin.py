"""One after the other, blind to everything else."""

from typing import ClassVar, Self

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.strategy.protocol import Settings


class RoundRobin:
    """cost = how many slots away the instance's turn is, counted from the one chosen last."""

    name: ClassVar[str] = "RoundRobin"
    wants_outlook: ClassVar[Wish] = Wish.NEVER

    def __init__(self) -> None:
        self._last = -1

    @classmethod
    def build(cls, settings: Settings) -> Self:
        del settings
        return cls()

    def cost(self, terms: Terms) -> list[float]:
        slots = terms.slots
        span = max(slots[-1], self._last) + 1
        cost = [float((slot - self._last - 1) % span) for slot in slots]
        self._last = slots[cost.index(min(cost))]
        return cost
