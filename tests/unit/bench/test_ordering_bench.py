"""`steelyard bench ordering`: its report has the shape that others read; the best there is, is."""

import json
from itertools import permutations
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from support.waiting import NOW_S, lanes, queues

from steelyard.bench import command as bench
from steelyard_bench.ordering.exact import best_batches, best_order
from steelyard_router.scheduling.order import Job, Lane
from steelyard_router.scheduling.order.objective import Score, predict, predict_batches, score


def test_a_quick_run_reports_costs_and_quality(tmp_path: Path) -> None:
    path = tmp_path / "build" / "ordering.json"

    result = CliRunner().invoke(bench, ["ordering", "--quick", "--json", str(path)])

    assert result.exit_code == 0, result.output
    assert "within 2 %" in result.output
    report = json.loads(path.read_text())
    assert report["quick"] is True
    assert {case["algorithm"] for case in report["cases"]} == {"UrgentFirst", "SimulatedAnnealing"}
    for case in report["cases"]:
        assert (case["waiting"], case["instances"]) == (20, 2)
        assert 0 < case["p50_ms"] <= case["p99_ms"]
        assert 0 < case["longest_block_ms"] <= case["p99_ms"] * 2
    assert {each["form"] for each in report["exact"]} == {"continuous", "batches"}
    assert all(0 < each["worst_ratio"] <= 1 + 1e-9 for each in report["exact"])
    assert {each["waiting"] for each in report["queues"]} == {10}


@settings(max_examples=30)
@given(queues(at_most=4, classes=1), lanes(width=3))
def test_the_best_order_is_that_of_plain_enumeration(jobs: list[Job], on: Lane) -> None:
    tried = [score(order, predict(order, on, NOW_S), NOW_S) for order in permutations(jobs)]

    _same(best_order(jobs, on, NOW_S), max(tried, key=lambda each: each.rank))


@settings(max_examples=30)
@given(queues(at_most=4, classes=1), lanes(width=3))
def test_the_best_batches_are_those_of_plain_enumeration(jobs: list[Job], on: Lane) -> None:
    tried = []
    for order in permutations(jobs):
        for cuts in range(1 << max(0, len(order) - 1)):
            batches = _cut(order, cuts)
            if all(len(batch) <= on.width for batch in batches):
                outcomes = predict_batches(batches, on, NOW_S)
                tried.append(score(order, outcomes, NOW_S))

    _same(best_batches(jobs, on, NOW_S), max(tried, key=lambda each: each.rank))


def _cut(order: tuple[Job, ...], cuts: int) -> list[list[Job]]:
    """After every place whose bit is set."""
    batches: list[list[Job]] = [[]]
    for place, each in enumerate(order):
        batches[-1].append(each)
        if cuts >> place & 1:
            batches.append([])
    return [batch for batch in batches if batch]


def _same(one: Score, other: Score) -> None:
    assert one.g == pytest.approx(other.g)
    assert one.met == other.met
