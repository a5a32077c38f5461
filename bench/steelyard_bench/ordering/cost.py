"""What a decision costs: who waits for which instance and in which order there, slice by slice.

With the garbage collector set as the router sets it. A p99 is the median of those of several
rounds, and so is the longest slice: another process's burst is not a property of ours. Beside each
is the same of the processor time, which others do not lengthen much.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from statistics import median
from time import perf_counter, thread_time
from typing import Final

import numpy as np

from steelyard_bench.collector import as_the_router_sets_it
from steelyard_bench.ordering import case
from steelyard_router.scheduling.order import Annealing, Decision, Pace, UrgentFirst, build

ALGORITHMS: Final = (UrgentFirst.name, Annealing.name)
"""The default, and what costs most."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one algorithm with so many waiting."""

    waiting: int
    instances: int
    algorithm: str
    p50_ms: float
    p99_ms: float
    longest_block_ms: float
    """Of one slice: so long it holds the event loop."""
    p99_cpu_ms: float
    longest_block_cpu_ms: float
    slices: float
    """On average."""


@dataclass(slots=True)
class Sample:
    """One decision: its slices, in seconds."""

    wall_s: list[float]
    cpu_s: list[float]


def costs(
    waiting: tuple[int, ...],
    instances: int,
    rounds: int,
    decisions: int,
    told: Callable[[str, float], None],
) -> list[Cost]:
    with as_the_router_sets_it():
        found = []
        for count in waiting:
            for algorithm in ALGORITHMS:
                label = f"{count:,} waiting, {algorithm}"
                samples = []
                for number in range(rounds):
                    samples.append(list(_decide(count, instances, algorithm, decisions)))
                    told(label, (number + 1) / rounds)
                found.append(_cost(count, instances, algorithm, samples))
        return found


def _decide(count: int, instances: int, algorithm: str, decisions: int) -> Iterator[Sample]:
    random, pace = Random(1), Pace()
    order = build(algorithm, random)
    for _ in range(decisions):
        jobs, lanes = case.jobs(count, random), case.lanes(instances, random)
        decision = Decision(jobs, lanes, order, now_s=case.NOW_S, clock=perf_counter, pace=pace)
        sample, over = Sample([], []), False
        while not over:
            cpu_s, wall_s = thread_time(), perf_counter()
            over = decision.advance()
            sample.wall_s.append(perf_counter() - wall_s)
            sample.cpu_s.append(thread_time() - cpu_s)
        yield sample


def _cost(count: int, instances: int, algorithm: str, rounds: list[list[Sample]]) -> Cost:
    every = [sample for samples in rounds for sample in samples]
    return Cost(
        waiting=count,
        instances=instances,
        algorithm=algorithm,
        p50_ms=_percentile([sum(sample.wall_s) for sample in every], 50),
        p99_ms=median(_percentile([sum(one.wall_s) for one in each], 99) for each in rounds),
        longest_block_ms=1e3 * median(max(max(one.wall_s) for one in each) for each in rounds),
        p99_cpu_ms=median(_percentile([sum(one.cpu_s) for one in each], 99) for each in rounds),
        longest_block_cpu_ms=1e3 * median(max(max(one.cpu_s) for one in each) for each in rounds),
        slices=sum(len(sample.wall_s) for sample in every) / len(every),
    )


def _percentile(seconds: list[float], percent: float) -> float:
    """In milliseconds."""
    return 1e3 * float(np.percentile(seconds, percent))
