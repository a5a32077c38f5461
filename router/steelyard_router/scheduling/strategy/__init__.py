"""How a placement is priced. Every strategy is a file of its own and stands in `STRATEGIES`.

So every claim about one is a comparison with the others, and all see the same terms.
"""

from typing import Final

from steelyard_router.scheduling.strategy.adaptive import Adaptive
from steelyard_router.scheduling.strategy.least_request import LeastRequest
from steelyard_router.scheduling.strategy.marginal_delay import MarginalDelay
from steelyard_router.scheduling.strategy.multiplicative import Multiplicative
from steelyard_router.scheduling.strategy.protocol import Settings, Strategy
from steelyard_router.scheduling.strategy.round_robin import RoundRobin

__all__ = [
    "AUTO",
    "STRATEGIES",
    "Adaptive",
    "LeastRequest",
    "MarginalDelay",
    "Multiplicative",
    "RoundRobin",
    "Settings",
    "Strategy",
    "build",
]

STRATEGIES: Final[tuple[type[Strategy], ...]] = (
    Adaptive,
    MarginalDelay,
    Multiplicative,
    LeastRequest,
    RoundRobin,
)
AUTO: Final = "Auto"
"""Means the first of them, which is what evidence has picked (docs/evaluation.md)."""


def build(name: str, settings: Settings | None = None) -> Strategy:
    """A strategy by its name, with a state of its own. Raises ValueError for a name that is not
    known.
    """
    known = {AUTO: STRATEGIES[0]} | {kind.name: kind for kind in STRATEGIES}
    if name not in known:
        raise ValueError(f"unknown strategy {name!r}; give one of {', '.join(known)}")
    return known[name].build(settings or Settings())
