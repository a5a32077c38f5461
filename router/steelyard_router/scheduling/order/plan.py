"""What annealing walks over: a plan, what it is worth, and neighbours of it."""

from collections.abc import Sequence, Set
from random import Random
from typing import Protocol

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.objective import Score


class Plan(Protocol):
    """Jobs in an order, and whatever else decides when they start."""

    score: Score
    """Of the plan as it was made."""

    @property
    def order(self) -> list[Job]: ...

    @property
    def settled(self) -> bool:
        """Whether it has no neighbour."""
        ...

    def propose(self, random: Random) -> Score:
        """Evaluates a neighbour."""
        ...

    def accept(self) -> None:
        """The neighbour that was evaluated last becomes the plan."""
        ...


def movable(order: Sequence[Job], fixed: Set[str] = frozenset()) -> list[tuple[int, int, int]]:
    """Each place that may change, with the run it may change in: the first place of it and the one
    after its last. A run is of one class and has none of the jobs whose keys are `fixed`.
    """
    found: list[tuple[int, int, int]] = []
    low = 0
    for high in range(1, len(order) + 1):
        last, job = order[high - 1], order[high] if high < len(order) else None
        if job is None or job.priority != last.priority or fixed & {last.key, job.key}:
            if high - low > 1:
                found += [(place, low, high) for place in range(low, high)]
            low = high
    return found
