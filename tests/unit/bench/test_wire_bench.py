"""`steelyard bench wire` as its users run it."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.bench_wire import command
from steelyard_bench.wire.figure import MEASURES


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_it_measures_the_real_router(tmp_path: Path) -> None:
    told = tmp_path / "wire.json"
    arguments = ["--runs", "1", "--seconds", "1", "--cells", "stream-c1", "--engines", "2"]
    result = CliRunner().invoke(
        command, [*arguments, "--targets", "direct,steelyard", "--json", str(told)]
    )

    assert result.exit_code == 0, result.output
    assert "stream-c1" in result.output
    document = json.loads(told.read_text())
    direct, ours = document["cells"]
    assert (direct["target"], ours["target"]) == ("direct", "steelyard")
    assert set(MEASURES) < set(ours)
    assert ours["errors"] == 0
    assert 10 < ours["cpu_us_per_request"] < 100_000
    assert ours["cpu_us_per_chunk"] == pytest.approx(ours["cpu_us_per_request"] / 16, rel=0.01)
    assert 10e6 < ours["rss_bytes"] < 500e6
    assert direct["cpu_us_per_request"] is None
    assert document["versions"]["wrk"]
    assert document["machine"]["cores"] > 0


@pytest.mark.parametrize("option", ["--cells", "--targets"])
def test_an_unknown_name_is_answered_with_the_known_ones(option: str) -> None:
    result = CliRunner().invoke(command, [option, "plain-c1,nonsense"])

    assert result.exit_code == 2
    assert "nonsense" in result.output
    assert "give some of" in result.output


def test_a_router_that_does_not_come_up_is_said_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("wrk") is None:
        monkeypatch.setattr("steelyard_bench.wire.wrk.find", lambda: "wrk")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "vllm-router"
    program.write_text("#!/bin/sh\necho cannot serve today\nexit 3\n")
    program.chmod(0o755)

    result = CliRunner().invoke(
        command, ["--peers-venv", str(tmp_path), "--targets", "vllm-router", "--engines", "1"]
    )

    assert result.exit_code == 1
    assert "vllm-router ended by itself" in result.output
    assert "cannot serve today" in result.output
