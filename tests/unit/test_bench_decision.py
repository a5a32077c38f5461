"""`steelyard bench decision`: the report has the shape that others read, and tells what it did."""

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from steelyard.bench import command as bench
from steelyard_bench import footprint
from steelyard_bench.conversation import Conversations
from steelyard_router.scheduling.request import HASH_BYTES


def test_a_quick_run_reports_cases_memory_and_hashing(tmp_path: Path) -> None:
    path = tmp_path / "build" / "decision.json"

    result = CliRunner().invoke(bench, ["decision", "--quick", "--json", str(path)])

    assert result.exit_code == 0, result.output
    assert "hashing 400 kB" in result.output
    report = json.loads(path.read_text())
    assert report["quick"] is True
    assert report["hash_400kB_us"] > 0
    assert report["index_bytes_per_holder"] == report["footprints"][0]["bytes_per_holder"]
    for timing in report["cases"] + report["worst_cases"]:
        assert 0 < timing["p50_us"] <= timing["p99_us"] <= timing["max_us"]
        assert 0 < timing["hit_ratio"] < 1
    known = [case["known"] for case in report["cases"]]
    assert known == ["nothing", "costs", "costs, targets, room"]
    case = report["cases"][0]
    assert (case["instances"], case["prompt_tokens"]) == (4, 6400)
    assert case["block_holders"] == 4 * 1000  # full, so every new block evicts an old one
    assert 1000 < case["blocks_indexed"] <= 4000


def test_the_bench_group_lists_its_measurements_and_knows_no_others() -> None:
    shown = CliRunner().invoke(bench, ["--help"]).output
    assert "decision" in shown
    assert "wire" in shown

    assert CliRunner().invoke(bench, ["speed"]).exit_code == 2


def test_conversations_grow_fork_begin_anew_and_repeat_for_a_seed() -> None:
    def prompts(seed: int) -> list[bytes]:
        source = Conversations(np.random.default_rng(seed), blocks=64, open_count=10)
        return [source.next() for _ in range(1000)]

    first = prompts(1)
    assert first == prompts(1)
    assert first != prompts(2)

    seen: set[bytes] = set()
    kinds = {"next": 0, "fork": 0, "new": 0}
    for prompt in first:
        blocks = [prompt[i : i + HASH_BYTES] for i in range(0, len(prompt), HASH_BYTES)]
        known = sum(block in seen for block in blocks)
        share = known / len(blocks)
        kinds["next" if share > 0.8 else "fork" if share > 0.2 else "new"] += 1
        seen.update(blocks)
    assert all(count > 50 for count in kinds.values()), kinds
    mean = sum(len(prompt) for prompt in first) / len(first) / HASH_BYTES
    assert 0.9 < mean / 64 < 1.1


def test_a_footprint_counts_the_blocks_it_was_asked_for() -> None:
    found = footprint.fill("chats", 3000, 4)

    assert 3000 <= found.blocks < 3100
    assert found.holders == 4 * found.blocks
    assert found.estimated_bytes > 8 * found.blocks
