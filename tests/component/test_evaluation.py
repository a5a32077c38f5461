"""`steelyard bench evaluation` on a slice of a trace, as far as one cell of its quick version."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from steelyard.main import main
from steelyard_bench.evaluation.grid import PRODUCT, SUBJECTS

TRACES = Path(__file__).parents[2] / "bench/traces"


def evaluate(folder: Path, *arguments: str, traces: Path = TRACES) -> Result:
    paths = ("--json", str(folder / "e.json"), "--docs", str(folder), "--traces", str(traces))
    return CliRunner().invoke(main, ["bench", "evaluation", "--quick", *paths, *arguments])


def test_a_cell_is_run_once_written_down_and_shown(tmp_path: Path) -> None:
    only = ("--jobs", "1", "--only", "azure-code")

    done = evaluate(tmp_path, *only)

    assert done.exit_code == 0, done.output
    first = json.loads((tmp_path / "e.json").read_bytes())
    assert {run["policy"] for run in first["runs"]} == {*SUBJECTS, PRODUCT, "vllm"}
    assert (first["missing"], first["stale"], first["quick"]) == (6, 0, True)
    page = (tmp_path / "evaluation.md").read_text()
    assert "### azure-code-x14" in page
    mean = first["runs"][0]["ttft_ms"]["mean"]
    assert f"| **{first['runs'][0]['policy']}** | 1 | {mean:,.0f} |" in page

    again = evaluate(tmp_path, *only)

    assert again.exit_code == 0, again.output
    assert json.loads((tmp_path / "e.json").read_bytes())["runs"] == first["runs"]
    assert evaluate(tmp_path, "--no-run").exit_code == 0
    assert (tmp_path / "evaluation.md").read_text() == page


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    nothing = evaluate(tmp_path, "--no-run")
    no_trace = evaluate(tmp_path, "--jobs", "1", "--only", "azure", traces=tmp_path)

    assert nothing.exit_code == 1
    assert "e.json cannot be read" in nothing.output
    assert no_trace.exit_code == 1
    assert "azure2023_code.csv.gz is missing. Run this in a copy" in no_trace.output
