"""`steelyard simulate --mix`: several workloads with SLOs of their own, and what they attain."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steelyard.main import main

SMALL = ("--mix", "slo", "--duration", "30")


def simulate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments])


def test_every_workload_has_its_attainment(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"

    done = simulate(
        *(*SMALL, "--rate", "20", "--max-sequences", "16", "--policy", "default,least-request"),
        *("--scheduler", "none", "--seeds", "1,2", "--jobs", "1", "--json", str(path)),
    )

    assert done.exit_code == 0, done.output
    assert "slo at 20 req/s" in done.stdout
    runs = json.loads(path.read_bytes())["runs"]
    assert [(run["policy"], run["seed"]) for run in runs] == [
        ("default", 1), ("default", 2), ("least-request", 1), ("least-request", 2),
    ]  # fmt: skip
    for run in runs:
        assert (run["instances"], run["max_sequences"], run["rate_per_s"]) == (4, 16, 20.0)
        assert (run["scheduler"], run["rejected"]) == ("none", 0.0)
        assert run["attainment"].keys() == {"batch", "chat", "code"}
        shares = run["attainment"].values()
        assert min(shares) < run["attainment_overall"] < max(shares)
        assert run["g"] > 0
        assert run["e2e_ms"]["p99"] > run["e2e_ms"]["mean"] > 0
        assert run["wait_ms"] == {"mean": 0.0, "p99": 0.0, "max": 0.0}
    assert runs[0]["requests"] == runs[2]["requests"] != runs[1]["requests"]


def test_within_the_memory_budget_nothing_is_preempted(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"

    done = simulate(
        *("--mix", "slo", "--duration", "60", "--rate", "7", "--instances", "2"),
        *("--kv-tokens", "20000", "--scheduler", "none,fcfs:kv=1e9,fcfs,default"),
        *("--seeds", "1,2", "--jobs", "1", "--json", str(path)),
    )

    assert done.exit_code == 0, done.output
    runs = json.loads(path.read_bytes())["runs"]
    assert {run["kv_tokens"] for run in runs} == {20000}
    preempted = {
        name: [run["preemptions"] for run in runs if run["scheduler"] == name]
        for name in ("none", "fcfs:kv=1e9", "fcfs", "default")
    }
    assert min(preempted["none"]) > 0
    assert min(preempted["fcfs:kv=1e9"]) > 0
    assert preempted["fcfs"] == preempted["default"] == [0, 0]
    assert all(run["failed"] == 0 for run in runs)


def test_under_half_of_its_load_the_pool_is_not_there(tmp_path: Path) -> None:
    """Nobody waits in front of an instance that has room."""
    path = tmp_path / "runs.json"

    done = simulate(
        *("--mix", "slo", "--duration", "120", "--rate", "7", "--max-sequences", "16"),
        *("--scheduler", "none,default", "--jobs", "1", "--json", str(path)),
    )

    assert done.exit_code == 0, done.output
    without, ours = json.loads(path.read_bytes())["runs"]
    assert ours["wait_ms"]["p99"] <= 1.0
    for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
        assert ours[name]["mean"] <= 1.01 * without[name]["mean"]


def test_the_highest_rate_that_meets_the_slos_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "capacity.json"

    done = simulate(
        *(*SMALL, "--rate", "25", "--instances", "2", "--capacity"),
        *("--jobs", "1", "--json", str(path)),
    )

    assert done.exit_code == 0, done.output
    (found,) = json.loads(path.read_bytes())["capacity"]
    assert (found["policy"], found["scheduler"]) == ("default", "none")
    by_rate = {probe["rate_per_s"]: probe["attainment"] for probe in found["probes"]}
    assert 25.0 in by_rate
    assert by_rate[found["rate_per_s"]] >= 0.9
    assert all(share < 0.9 for rate, share in by_rate.items() if rate > found["rate_per_s"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of --trace and --mix"),
        ((*SMALL, "--rate", "1", "--trace", "t.jsonl"), "give one of --trace and --mix"),
        (SMALL, "--mix needs --rate"),
        ((*SMALL, "--rate", "1", "--sessions", "3"), "--sessions goes with --trace only"),
        ((*SMALL, "--rate", "1", "--slo-ttft-ms", "3"), "--slo-ttft-ms goes with --trace only"),
        (("--trace", "t.jsonl", "--rate", "3"), "--rate goes with --mix only"),
        (("--trace", "t.jsonl", "--capacity"), "--capacity goes with --mix only"),
        (
            (*SMALL, "--rate", "1", "--scheduler", "best"),
            "unknown scheduler 'best'; known are none",
        ),
        ((*SMALL, "--rate", "1", "--max-sequences", "0"), "0 is not in the range x>=1"),
        ((*SMALL, "--rate", "1", "--kv-tokens", "9"), "kv_tokens at least one block"),
        ((*SMALL, "--rate", "1e-9"), "slo: no request lies within the limits"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], message: str) -> None:
    done = simulate(*arguments)

    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
