"""All of `steelyard bench ordering`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from steelyard_bench.ordering.cost import Cost, costs
from steelyard_bench.ordering.quality import Gain, Nearness, gains, nearness

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it is done."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    waiting: tuple[int, ...]
    instances: int
    rounds: int
    decisions: int
    exact: int
    """Cases beside the best there is;"""
    queues: int
    """random queues of each length,"""
    queued: tuple[int, ...]
    """which are these."""
    evaluations: tuple[int, ...]
    """Annealing's."""


FULL: Final = Plan(
    waiting=(100, 1000),
    instances=8,
    rounds=5,
    decisions=200,
    exact=500,
    queues=50,
    queued=(20, 50, 100),
    evaluations=(100, 400, 2000),
)
QUICK: Final = Plan(
    waiting=(20,),
    instances=2,
    rounds=2,
    decisions=5,
    exact=3,
    queues=2,
    queued=(10,),
    evaluations=(50,),
)


@dataclass(frozen=True, slots=True)
class Report:
    """What it costs, how near the best it comes, and how orders compare."""

    cases: list[Cost]
    exact: list[Nearness]
    queues: list[Gain]


def measure(plan: Plan, progress: Progress) -> Report:
    """A few minutes for FULL."""
    return Report(
        costs(plan.waiting, plan.instances, plan.rounds, plan.decisions, progress),
        nearness(plan.exact, lambda share: progress("against the best there is", share)),
        gains(
            plan.queued,
            plan.queues,
            plan.evaluations,
            lambda share: progress("random queues", share),
        ),
    )
