"""What a process does: one run, or one search for the smallest fleet."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from steelyard_bench.evaluation.cell import Task
from steelyard_bench.evaluation.source import SOURCES
from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.trace import Trace
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.report import Report
from steelyard_simulator.replay.scenario import run

Record = dict[str, object]

SHARES: Final = (*range(0, 100, 2), 99, 99.5, 99.9)
"""Percentiles of a curve."""
WANTED: Final = 0.95
"""Share of the requests that must meet every target."""
FLEETS: Final = (2, 96)
"""Sizes between which the search looks."""
FIRST: Final = 16
"""The size that it looks at first; from there it grows by doubling."""
TRACES_KEPT: Final = 2


def perform(task: Task, folder: Path) -> Record:
    """The figures of a task, as JSON has them. Raises SourceError."""
    trace = _read(task.cell.source, folder)
    return _search(task, trace) if task.search else _run(task, trace)


@lru_cache(maxsize=TRACES_KEPT)
def _read(source: str, folder: Path) -> Trace:
    return SOURCES[source].read(folder)


def _run(task: Task, trace: Trace) -> Record:
    outcomes: list[Outcome] = []
    report = run(trace, task.cell.scenario(), task.policy, task.seed, on_outcome=outcomes.append)
    record = report.to_dict() | {
        "attainment": round(_attainment(outcomes, task.cell.slo), 5),
        "requests_by_instance": _extremes(report, task.cell.instances),
    }
    if task.cell.curves and task.seed == 1:
        record["curves"] = {
            "ttft_ms": _curve([one.ttft_s for one in outcomes]),
            "tpot_ms": _curve([one.tpot_s for one in outcomes]),
        }
    return record


def _attainment(outcomes: list[Outcome], slo: SLO) -> float:
    """Share within the targets; what failed is not, a reply of one token has no TPOT to miss."""
    met = sum(
        one.e2e_s is not None
        and (one.ttft_s or 0.0) <= (slo.ttft_s or float("inf"))
        and (one.tpot_s or 0.0) <= (slo.tpot_s or float("inf"))
        for one in outcomes
    )
    return met / len(outcomes) if outcomes else 0.0


def _extremes(report: Report, instances: int) -> dict[str, int]:
    counts = sorted(report.by_instance.values())
    return {"least": counts[0] if len(counts) == instances else 0, "most": counts[-1]}


def _curve(seconds: list[float | None]) -> list[float]:
    known = [1000 * value for value in seconds if value is not None]
    return [round(float(value), 2) for value in np.percentile(known, SHARES)] if known else []


@dataclass(frozen=True, slots=True)
class Found:
    """The smallest fleet that is enough; None: not even the largest is. `probes`: attainment by
    size."""

    instances: int | None
    probes: dict[int, float]


def smallest(attained: Callable[[int], float], least: int, most: int) -> Found:
    """By halving. Taken as monotone: a larger fleet does no worse."""
    probes: dict[int, float] = {}

    def enough(instances: int) -> bool:
        if instances not in probes:
            probes[instances] = attained(instances)
        return probes[instances] >= WANTED

    low, high = least, most
    start = min(max(least, FIRST), most)
    if enough(start):
        high = start
    elif enough(most):
        low = start + 1
    else:
        return Found(None, dict(sorted(probes.items())))
    while low < high:
        middle = min((low + high) // 2, 2 * start)
        if enough(middle):
            high = middle
        else:
            low = start = middle + 1
    return Found(low if enough(low) else None, dict(sorted(probes.items())))


def _search(task: Task, trace: Trace) -> Record:
    reports: list[Report] = []

    def attained(instances: int) -> float:
        report = run(trace, task.cell.scenario(instances), task.policy, task.seed)
        reports.append(report)
        return min(report.attainment.values())

    found = smallest(attained, *FLEETS)
    return {
        "policy": task.policy,
        "seed": task.seed,
        "instances_needed": found.instances,
        "probes": {str(size): round(share, 5) for size, share in found.probes.items()},
        "cpu_s": round(sum(report.cpu_s for report in reports), 3),
        "wall_s": round(sum(report.wall_s for report in reports), 3),
    }
