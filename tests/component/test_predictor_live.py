"""`steelyard bench predictor --engine` as a whole, before simulated engines."""

import json
from pathlib import Path

from click.testing import CliRunner

from steelyard.main import main


def test_a_quick_run_hears_of_every_request_from_the_router(tmp_path: Path) -> None:
    file, folder = tmp_path / "found.json", tmp_path / "run"
    paths = ("--engine", str(tmp_path), "--run-dir", str(folder), "--json", str(file))

    done = CliRunner().invoke(main, ["bench", "predictor", "--quick", *paths])

    assert done.exit_code == 0, done.output
    assert "requests were predicted" in done.output
    found = json.loads(file.read_text())
    assert found["quick"] is True
    (one,) = found["steady"]
    assert one["rate_per_s"] == round(0.5 * found["possible_per_s"], 2) > 0
    lines = [json.loads(line) for line in (folder / "router-1.ndjson").read_text().splitlines()]
    told = [line for line in lines if "prediction" in line]
    assert one["requests"] == len(told) - 5 > 0
    assert {line["result"] for line in told} == {"ok"}
    everybody = [error for error in one["errors"] if error["workload"] == "all"]
    constant = [error for error in everybody if error["rival"] == "constant"]
    assert [error["kind"] for error in constant] == ["ttft", "tpot"]
    assert [bar["limit"] for bar in found["bars"]] == [0.25, 0.25]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    paths = ("--engine", str(tmp_path), "--run-dir", str(tmp_path / "run"))

    done = CliRunner().invoke(main, ["bench", "predictor", *paths])

    assert done.exit_code == 1
    assert "has no engine: run `make fidelity`" in done.output
