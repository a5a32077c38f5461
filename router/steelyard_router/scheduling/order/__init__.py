"""Who goes first of those that must wait: pure, over predictions.

An order is a rule for one instance, each a file of its own and in `ORDERS`, so that every claim
about one is a comparison with the others. `Decision` is the whole of it: who waits for which
instance and in which order there, in slices that hold nobody up.
"""

from random import Random
from typing import Final

from steelyard_router.scheduling.order.annealing import Annealing
from steelyard_router.scheduling.order.deadline import Deadline
from steelyard_router.scheduling.order.decision import Decision, Limits, Pace
from steelyard_router.scheduling.order.fcfs import FCFS
from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane, slots
from steelyard_router.scheduling.order.least_laxity import LeastLaxity
from steelyard_router.scheduling.order.overdue import PATIENCE, Patience
from steelyard_router.scheduling.order.program_aware import ProgramAware
from steelyard_router.scheduling.order.protocol import Order, Search, arrange
from steelyard_router.scheduling.order.shortest_predicted import ShortestPredicted
from steelyard_router.scheduling.order.sorting import SortingOrder
from steelyard_router.scheduling.order.temperature import SCHEDULE, Schedule
from steelyard_router.scheduling.order.urgent_first import UrgentFirst

__all__ = [
    "AUTO",
    "FCFS",
    "ORDERS",
    "Annealing",
    "Deadline",
    "Decision",
    "Job",
    "Lane",
    "LeastLaxity",
    "Limits",
    "Order",
    "Pace",
    "Patience",
    "ProgramAware",
    "Schedule",
    "Search",
    "ShortestPredicted",
    "UrgentFirst",
    "arrange",
    "build",
    "slots",
]

SORTING: Final[tuple[type[SortingOrder], ...]] = (
    UrgentFirst,
    Deadline,
    LeastLaxity,
    ShortestPredicted,
    ProgramAware,
    FCFS,
)
ORDERS: Final = (*(kind.name for kind in SORTING), Annealing.name)
AUTO: Final = "Auto"
"""Means the first of them, which is what evidence has picked (docs/ordering.md)."""


def build(
    name: str, random: Random, *, patience: Patience = PATIENCE, schedule: Schedule = SCHEDULE
) -> Order:
    """An order by its name. Raises ValueError for a name that is not known."""
    if name == Annealing.name:
        return Annealing(random, schedule, patience)
    if name == FCFS.name:
        return FCFS()
    known = {AUTO: SORTING[0]} | {kind.name: kind for kind in SORTING}
    if name not in known:
        raise ValueError(f"unknown order {name!r}; give one of {', '.join((AUTO, *ORDERS))}")
    return known[name](patience)
