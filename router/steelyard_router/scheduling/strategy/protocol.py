"""What a strategy is, and the settings that a workload may give it."""

from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.request import Weights


@dataclass(frozen=True, slots=True)
class Settings:
    """A workload's routing; None where nothing is set. Each strategy reads what concerns it."""

    p_exponent: float | None = None
    b_exponent: float | None = None
    offset: float = 0.0
    """Tokens added to Q + P."""
    weights: Weights | None = None


class Strategy(Protocol):
    """Prices a placement. One object per workload; it may have a state, since `cost` is called
    exactly once per decision.
    """

    name: ClassVar[str]
    wants_outlook: ClassVar[Wish]
    """An outlook that is there may have been made for another strategy."""

    @classmethod
    def build(cls, settings: Settings) -> Self: ...

    def cost(self, terms: Terms) -> list[float]:
        """One number per candidate, the lower the better; never NaN. The scheduler breaks ties."""
        ...
