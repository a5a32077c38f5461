"""`steelyard bench live-order` as a whole, before simulated engines."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.main import main


def test_a_quick_run_plays_every_request_in_every_cell(tmp_path: Path) -> None:
    file = tmp_path / "build" / "found.json"
    paths = ("--json", str(file), "--run-dir", str(tmp_path / "run"))

    done = CliRunner().invoke(main, ["bench", "live-order", "--quick", *paths])

    assert done.exit_code == 0, done.output
    assert "longest wait" in done.output
    found = json.loads(file.read_text())
    assert found["quick"] is True
    (phase,) = found["phases"]
    assert phase["rate_per_s"] == pytest.approx(1.5 * phase["capacity"]["rate_per_s"], abs=0.001)
    assert [one["cell"] for one in phase["cells"]] == ["engine-fcfs", "both-classes"]
    plain, ordered = (one["classes"] for one in phase["cells"])
    assert {name: one["requests"] for name, one in plain.items()} == {
        name: one["requests"] for name, one in ordered.items()
    }
    for one in (plain["all"], ordered["all"]):
        assert one["requests"] > 0
        assert (one["rejected"], one["failed"], one["unanswered"]) == (0, 0, 0)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    paths = ("--engine", str(tmp_path), "--run-dir", str(tmp_path / "run"))

    done = CliRunner().invoke(main, ["bench", "live-order", *paths])

    assert done.exit_code == 1
    assert "has no engine" in done.output
