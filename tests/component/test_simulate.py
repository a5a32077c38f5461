"""`steelyard simulate` on the slice of a real trace that ships with the demo."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steelyard.main import main

TRACE = Path(__file__).parents[2] / "examples/demo/mooncake_conversation_10min.jsonl.gz"


def simulate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", "--trace", str(TRACE), *arguments])


def test_policies_are_compared_over_seeds_and_written_down(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.json"

    done = simulate(
        *("--instances", "4", "--policy", "multiplicative,round-robin", "--seeds", "1,2"),
        *("--limit", "300", "--slo-ttft-ms", "5000", "--json", str(path)),
    )

    assert done.exit_code == 0, done.output
    assert "300 requests, 4 instances, 2 seeds" in done.stdout
    runs = json.loads(path.read_bytes())["runs"]
    assert [(run["policy"], run["seed"]) for run in runs] == [
        ("multiplicative", 1), ("multiplicative", 2), ("round-robin", 1), ("round-robin", 2),
    ]  # fmt: skip
    ours, blind = runs[0], runs[2]
    assert ours["trace"] == TRACE.name
    assert ours["scheduler"] == "none"
    assert ours["hit_ratio"] > blind["hit_ratio"]
    assert ours["ttft_ms"]["mean"] < blind["ttft_ms"]["mean"]
    assert 0 < ours["attainment"]["default"] <= 1


def test_a_fleet_of_mixed_speed_that_loses_instances_is_simulated() -> None:
    done = simulate(
        *("--instances", "4", "--slow", "2x2.5", "--event", "fail@20:0", "--event", "join@60:0"),
        *("--limit", "200", "--routers", "2", "--metrics-delay", "1", "--poisson"),
    )

    assert done.exit_code == 0, done.output
    assert "default" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "best"), "unknown policy 'best'; known are default"),
        (("--policy", ","), "name at least one of default"),
        (("--seeds", "1,x"), "not a list of whole numbers such as 1,2,3"),
        (("--slow", "8"), "not COUNTxFACTOR such as 8x2.5"),
        (("--slow", "17x2"), "17 slow instances are more than 16"),
        (("--event", "burn@1:0"), "not KIND@SECONDS:INSTANCE, as in fail@120:3"),
        (("--sessions", "3"), "--sessions needs --think-time"),
        (("--start", "90000"), "no request lies within the limits"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], message: str) -> None:
    done = simulate(*arguments)

    assert done.exit_code != 0
    assert message in " ".join(done.output.split())


def test_a_trace_that_is_not_there_is_named() -> None:
    done = CliRunner().invoke(main, ["simulate", "--trace", "nowhere.jsonl"])

    assert done.exit_code == 1
    assert "nowhere.jsonl: cannot be read" in done.output
