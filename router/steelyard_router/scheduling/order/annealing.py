"""Simulated annealing: from the best of the orders that sort, on to better ones.

It walks from a plan to one of its neighbours, at first wherever the way leads, then more and more
uphill only. What is compared is G as a share of the start's: G itself is small or large with how
much waits.

Kept true: the answer is the best plan seen, so no start is better; where a start meets every
target, the best such start is the answer; equal random numbers give equal orders.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain, islice
from math import exp
from random import Random
from typing import ClassVar, Final

from steelyard_router.scheduling.order.deadline import Deadline
from steelyard_router.scheduling.order.fcfs import FCFS
from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.least_laxity import LeastLaxity
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.order.objective import Score
from steelyard_router.scheduling.order.overdue import PATIENCE, Patience
from steelyard_router.scheduling.order.plan import Plan
from steelyard_router.scheduling.order.shortest_predicted import ShortestPredicted
from steelyard_router.scheduling.order.temperature import LOWEST, SCHEDULE, Schedule, calibrate
from steelyard_router.scheduling.order.timeline import Timeline
from steelyard_router.scheduling.order.urgent_first import UrgentFirst

SAMPLES: Final = 16
"""Neighbours of the start that set the first temperature."""
PART_MET: Final = 0.01
"""Added to the requests on time, so that where none is, a faster plan is still better."""
SHORTEST_S: Final = 1e-9
"""Of all latencies; nothing takes no time."""

MakePlan = Callable[[Sequence[Job], Lane, float, Set[str]], Plan]


class Annealing:
    """`make_plan` says what an order does: `Timeline`, or `Batches` for the published form."""

    name: ClassVar[str] = "SimulatedAnnealing"
    instant: ClassVar[bool] = False
    key = staticmethod(UrgentFirst.key)

    def __init__(
        self,
        random: Random,
        schedule: Schedule = SCHEDULE,
        patience: Patience = PATIENCE,
        make_plan: MakePlan = Timeline,
    ) -> None:
        self._random = random
        self._schedule = schedule
        self.patience = patience
        self._make_plan = make_plan
        kinds = (UrgentFirst, ShortestPredicted, Deadline, LeastLaxity, FCFS)
        self._starts = [kind(patience) for kind in kinds]

    def begin(self, jobs: Sequence[Job], lane: Lane, now_s: float) -> "Walk":
        first, *others = self._starts
        order = first.begin(jobs, lane, now_s).best
        orders = chain([order], (start.begin(jobs, lane, now_s).best for start in others))
        at = Moment.of(lane, now_s, len(jobs))
        fixed = frozenset(job.key for job in jobs if self.patience.ends_for(job, at))
        plans = (self._make_plan(each, lane, now_s, fixed) for each in orders)
        return Walk(order, plans, self._schedule, self._random)


class Walk:
    """One search. Making a start is an evaluation, and so is proposing a neighbour."""

    def __init__(
        self, first: list[Job], starts: Iterator[Plan], schedule: Schedule, random: Random
    ) -> None:
        self.best = first
        self._starts = starts
        self._schedule = schedule
        self._random = random
        self._plan: Plan | None = None
        self._left = schedule.evaluations
        """Neighbours to try."""
        self._losses: list[float] = []
        self._temperature, self._factor = LOWEST, 1.0
        self._current = 1.0
        self.score = Score(0, 0.0)
        """Of the best; of nothing until a start is made."""

    def allow(self, evaluations: int) -> None:
        """Before it has begun; never more than its schedule has."""
        self._left = min(self._schedule.evaluations, evaluations)

    def advance(self, evaluations: int) -> bool:
        for start in islice(self._starts, evaluations):
            evaluations -= 1
            if self._plan is None or _preferred(start) > _preferred(self._plan):
                self._plan = start
                self.best, self.score = start.order, start.score
        plan = self._plan
        if evaluations and (plan is None or plan.settled or plan.score.met == len(self.best)):
            return True
        if plan is not None:
            self._anneal(plan, min(evaluations, self._left))
        return self._left <= 0

    def _anneal(self, plan: Plan, evaluations: int) -> None:
        unit = _worth(plan.score)
        random = self._random
        for _ in range(evaluations):
            score = plan.propose(random)
            value = _worth(score) / unit
            loss = self._current - value
            if loss <= 0 or random.random() < exp(-loss / self._temperature):
                plan.accept()
                self._current = value
                if score.rank > self.score.rank:
                    self.best, self.score = plan.order, score
            self._left -= 1
            self._cool(loss)

    def _cool(self, loss: float) -> None:
        """While changes are sampled, nothing worse is taken."""
        if self._factor < 1:
            self._temperature *= self._factor
            return
        self._losses.append(loss)
        if len(self._losses) == SAMPLES:
            first = calibrate(self._losses, self._schedule.acceptance)
            self._temperature, self._factor = self._schedule.range(
                first, max(1, self._left), len(self.best)
            )


def _preferred(plan: Plan) -> tuple[float, ...]:
    """One that meets every target before any that does not."""
    return (plan.score.met == len(plan.order), *plan.score.rank)


def _worth(score: Score) -> float:
    return (score.met + PART_MET) / max(score.total_s, SHORTEST_S)
