"""How much a fleet can take: the highest rate of a mix at which enough requests meet their SLOs.

By bisection. Taken as monotone: more requests do no better. The n-th request of a seed is the same
at every rate (load/mix.py), so neighbouring rates differ by their load and by little else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from steelyard_simulator.load.mix import Mix
from steelyard_simulator.replay.parallel import Cell, run_all
from steelyard_simulator.replay.scenario import Scenario
from steelyard_simulator.replay.scheduler import NONE

WANTED: Final = 0.9
"""Share of the requests that must meet every target."""
STEP: Final = 1.25
"""Factor between rates until two of them enclose the capacity."""
TOLERANCE: Final = 0.01
"""Between these two at the end, as a share of the lower one."""
LEAST_PER_S: Final = 0.01
"""Below it a fleet counts as having none."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """`rate_per_s` is the highest rate seen to be good enough; 0: none was. `probes`: attainment by
    rate.
    """

    rate_per_s: float
    probes: dict[float, float]


def highest(
    attained: Callable[[float], float],
    first_per_s: float,
    *,
    wanted: float = WANTED,
    tolerance: float = TOLERANCE,
) -> Capacity:
    """Looks at `first_per_s`, then up or down by STEP, then between."""
    probes: dict[float, float] = {}

    def enough(rate_per_s: float) -> bool:
        probes[rate_per_s] = attained(rate_per_s)
        return probes[rate_per_s] >= wanted

    low = high = first_per_s
    if enough(first_per_s):
        while enough(high := low * STEP):
            low = high
    else:
        while not enough(low := high / STEP):
            high = low
            if high < LEAST_PER_S:
                return Capacity(0.0, dict(sorted(probes.items())))
    while high - low > tolerance * low:
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return Capacity(low, dict(sorted(probes.items())))


def capacity(
    mix: Mix,
    scenario: Scenario,
    policy: str,
    seeds: Sequence[int],
    *,
    scheduler: str = NONE,
    wanted: float = WANTED,
    jobs: int = 1,
) -> Capacity:
    """Over the mean of the seeds' attainments, beginning with the rate of the mix."""
    cells = [Cell(policy, seed, scheduler) for seed in seeds]

    def attained(rate_per_s: float) -> float:
        reports = run_all(replace(mix, rate_per_s=rate_per_s), scenario, cells, jobs=jobs)
        return fmean(report.attained for report in reports)

    return highest(attained, mix.rate_per_s, wanted=wanted)
