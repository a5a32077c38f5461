"""Evaluations as their JSON has them, with figures that a test chooses."""

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_bench.evaluation.cell import Cell, Group
from steelyard_bench.evaluation.result import Evaluation
from steelyard_bench.evaluation.source import SOURCES
from steelyard_bench.evaluation.store import FORMAT

MACHINE = {"cpu": "none", "cores": 2, "kernel": "0", "python": "3.11", "python_optimised": True}


def run(cell: str, policy: str, seed: int = 1, **figures: float) -> dict[str, Any]:
    """`ttft`, `ttft_p99`, `tpot`, `tpot_p99`, `e2e` in ms; `hit`, `attainment`."""
    ttft, tpot = figures.get("ttft", 100.0), figures.get("tpot", 10.0)
    return {
        "id": f"{cell}/{policy}/{seed}",
        "cell": cell,
        "policy": policy,
        "seed": seed,
        "requests": 1000,
        "span_s": 100.0,
        "cpu_s": figures.get("cpu_s", 1.0),
        "hit_ratio": figures.get("hit", 0.3),
        "attainment": figures.get("attainment", 0.9),
        "ttft_ms": {"mean": ttft, "p99": figures.get("ttft_p99", 10 * ttft)},
        "tpot_ms": {"mean": tpot, "p99": figures.get("tpot_p99", 10 * tpot)},
        "e2e_ms": {"mean": figures.get("e2e", 1000.0)},
        "requests_by_instance": {"least": 10, "most": 10},
    }


def cell(name: str, group: Group = Group.MAIN, source: str = "conversation") -> dict[str, Any]:
    made = Cell(name, group, source, {})
    kind = SOURCES[source].kind.value
    return {"name": name, "group": group.value, "kind": kind, "curves": False, **made.describe()}


def document(
    cells: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]], **more: object
) -> dict[str, Any]:
    about: dict[str, object] = {"quick": False, "seeds": 5, "stale": 0, "missing": 0}
    about |= {"subjects": ["adaptive"], "machine": MACHINE}
    return {"format": FORMAT, **about, "cells": list(cells), "runs": list(runs), **more}


def evaluation(*runs: Mapping[str, Any], group: Group = Group.MAIN) -> Evaluation:
    """Cells are those that the runs name, all of one group."""
    names = dict.fromkeys(str(each["cell"]) for each in runs)
    return Evaluation(document([cell(name, group) for name in names], runs))
