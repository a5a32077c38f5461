"""The bench of predictions: what it compares is what it says."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.bench import command as bench
from steelyard_bench.predictor.play import Load, Mean, Throttle, oracle, play
from steelyard_bench.predictor.row import Row, Times, error
from steelyard_bench.predictor.truth import Truth
from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import Job
from steelyard_simulator.engine.profile import profile

REFERENCE = profile("reference")


def row(told: float | None, measured: float | None, workload: str = "chat") -> Row:
    made = Row(0, workload, 0.0, {"router": Times(told, None)})
    made.measured = Times(measured, None)
    return made


def test_an_error_is_relative_to_what_was_measured_and_what_is_shown_to_the_prediction() -> None:
    assert row(0.1, 0.2).error("router", "ttft") == pytest.approx(0.5)
    assert row(0.1, 0.2).miss("router", "ttft") == pytest.approx(1.0)
    assert row(None, 0.2).error("router", "ttft") is None
    assert row(0.1, 0.2).error("router", "tpot") is None
    assert row(0.1, 0.2).error("oracle", "ttft") is None


def test_errors_are_summed_up_by_workload() -> None:
    rows = [row(0.1, 0.2), row(0.2, 0.2), row(0.3, 0.2), row(0.9, 0.1, "code"), row(None, 0.2)]

    found = error(rows, "router", "ttft", "chat")

    assert found is not None
    assert found.requests == 3
    assert found.median == pytest.approx(0.5)
    assert found.mape == pytest.approx(1 / 3)
    everything = error(rows, "router", "ttft")
    assert everything is not None
    assert everything.requests == 4
    assert error(rows, "router", "tpot") is None


def test_the_constant_is_the_mean_of_what_was_measured_before() -> None:
    mean = Mean()
    assert mean.times == (None, None)

    for ttft, tpot in ((0.1, None), (0.3, 0.02)):
        mean.add(Times(ttft, tpot))

    assert mean.times == pytest.approx((0.2, 0.02))


def test_the_oracle_is_right_where_nobody_else_comes_and_leaves_the_engine_alone() -> None:
    engine, job = Engine(REFERENCE), Job("a", 3000, 50)
    engine.submit(Job("b", 2000, 80), 0.0)
    engine.advance(0.3)

    told = oracle(engine, job, 0.3)

    assert engine.running == 1
    engine.submit(job, 0.3)
    at_s = {(event.job.id, event.kind.name): event.at_s for event in engine.advance(1e9)}
    first_s, end_s = at_s["a", "FIRST_TOKEN"], at_s["a", "FINISHED"]
    assert told == pytest.approx((first_s - 0.3, (end_s - first_s) / 49))
    assert oracle(Engine(REFERENCE), Job("c", 10, 1), 0.0).tpot is None


def test_who_is_told_what_steps_cost_follows_a_drop_at_once() -> None:
    truth = Truth(REFERENCE)
    before = truth.coefficients("i00")
    truth.slow_down(2.0)

    assert truth.coefficients("i01") == pytest.approx([2 * each for each in before])


def test_every_request_is_predicted_and_the_clock_drops_when_it_is_to() -> None:
    rows = play(Load(8.0, 20.0, 1, Throttle(10.0, 3.0)), told=True)

    assert all(row.measured.ttft and row.told["router"].ttft for row in rows)
    early = [row.measured.tpot for row in rows if row.at_s < 6 and row.measured.tpot]
    late = [row.measured.tpot for row in rows if row.at_s > 10 and row.measured.tpot]
    assert min(late) > 2 * min(early)


def test_a_quick_run_holds_its_bars_against_what_it_measured(tmp_path: Path) -> None:
    path = tmp_path / "predictor.json"

    result = CliRunner().invoke(bench, ["predictor", "--quick", "--json", str(path)])

    assert result.exit_code == 0, result.output
    assert "median error of TTFT at 12/s" in result.output
    report = json.loads(path.read_text())
    assert report["quick"] is True
    bars = {bar["name"]: bar for bar in report["bars"]}
    [steady] = report["steady"]
    ours = next(e for e in steady["errors"] if (e["rival"], e["kind"]) == ("router", "ttft"))
    told = bars["median error of TTFT at 12/s"]
    assert (told["value"], told["limit"]) == (ours["median"], 0.1)
    assert told["holds"] is (told["value"] <= 0.1)
    assert bars["one prediction, us"]["value"] == report["costs"][1]["us"] > 0
    assert [span["first"] for span in report["spans"][:3]] == [None, 0, 100]
    assert report["met"] is all(bar["holds"] for bar in bars.values())
