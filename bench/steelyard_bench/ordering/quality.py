"""How good orders are: against the best there is for a few jobs, against each other for many.

All of it is predicted by the objective that annealing works on, for what waits at one moment; what
comes of an order while others arrive is what `steelyard simulate --mix slo` measures.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean
from typing import Final

from steelyard_bench.ordering import case
from steelyard_bench.ordering.exact import best_batches, best_order
from steelyard_router.scheduling.order import (
    ORDERS,
    Annealing,
    Deadline,
    Job,
    Lane,
    LeastLaxity,
    Order,
    Schedule,
    ShortestPredicted,
    arrange,
    build,
)
from steelyard_router.scheduling.order.batching import Batches
from steelyard_router.scheduling.order.objective import Score, predict, score
from steelyard_router.scheduling.order.protocol import AT_ONCE

RIVALS: Final = (Deadline, LeastLaxity, ShortestPredicted)
FEW: Final = 8
"""Jobs at most for which everything is tried."""
WITHIN: Final = 0.98
NEAR: Final = Schedule(evaluations=1000)
"""About 10 ms for eight jobs."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """Annealing against the best there is, with eight jobs or fewer."""

    form: str
    cases: int
    within: float
    """Share of the cases within 2 % of the best G."""
    mean_ratio: float
    worst_ratio: float


@dataclass(frozen=True, slots=True)
class Gain:
    """An order's predicted G on random queues, over that of the best of earliest deadline, least
    laxity and shortest first in the same case.
    """

    waiting: int
    order: str
    cases: int
    mean_ratio: float
    met: float
    """Share of the requests that meet their SLO."""


def nearness(cases: int, told: Callable[[float], None]) -> list[Nearness]:
    """In both forms."""
    return [
        _near("continuous", cases, _continuous, lambda share: told(share / 2)),
        _near("batches", cases, _batches, lambda share: told(0.5 + share / 2)),
    ]


def _near(
    form: str,
    cases: int,
    solve: Callable[[Sequence[Job], Lane, Random], tuple[Score, Score]],
    told: Callable[[float], None],
) -> Nearness:
    ratios = []
    for number in range(cases):
        random = Random(number)
        jobs = case.jobs(random.randint(3, FEW), random)
        found, best = solve(jobs, case.lane("i0", random, random.randint(1, 4)), random)
        ratios.append(found.g / best.g if best.g else 1.0)
        told((number + 1) / cases)
    within = sum(ratio >= WITHIN for ratio in ratios) / cases
    return Nearness(form, cases, within, sum(ratios) / cases, min(ratios))


def _continuous(jobs: Sequence[Job], lane: Lane, random: Random) -> tuple[Score, Score]:
    found = _score(Annealing(random, NEAR), jobs, lane)
    return found, best_order(jobs, lane, case.NOW_S)


def _batches(jobs: Sequence[Job], lane: Lane, random: Random) -> tuple[Score, Score]:
    walk = Annealing(random, NEAR, make_plan=Batches).begin(jobs, lane, case.NOW_S)
    while not walk.advance(AT_ONCE):
        pass
    return walk.score, best_batches(jobs, lane, case.NOW_S)


def gains(
    counts: Sequence[int], cases: int, evaluations: Sequence[int], told: Callable[[float], None]
) -> list[Gain]:
    """All orders, and annealing with each of so many evaluations."""
    found = []
    for place, count in enumerate(counts):
        scores: dict[str, list[tuple[Score, float]]] = {}
        for number in range(cases):
            random = Random(number)
            jobs, lane = case.jobs(count, random), case.lane("i0", random)
            by_order = {
                name: _score(order, jobs, lane) for name, order in _orders(evaluations, random)
            }
            best = max(by_order[kind.name].g for kind in RIVALS)
            for name, each in by_order.items():
                scores.setdefault(name, []).append((each, best))
            told((place + (number + 1) / cases) / len(counts))
        found += [_gain(count, name, each) for name, each in scores.items()]
    return found


def _gain(count: int, name: str, scores: list[tuple[Score, float]]) -> Gain:
    ratio = mean(each.g / best if best else 1.0 for each, best in scores)
    return Gain(count, name, len(scores), ratio, mean(each.met for each, _ in scores) / count)


def _orders(evaluations: Sequence[int], random: Random) -> Iterator[tuple[str, Order]]:
    for name in ORDERS:
        if name != Annealing.name:
            yield name, build(name, random)
    for count in evaluations:
        yield f"{Annealing.name} {count}", Annealing(random, Schedule(evaluations=count))


def _score(order: Order, jobs: Sequence[Job], lane: Lane) -> Score:
    found = arrange(order, jobs, lane, case.NOW_S)
    return score(found, predict(found, lane, case.NOW_S), case.NOW_S)
