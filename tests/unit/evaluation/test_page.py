from pathlib import Path

from support.evaluation_case import cell, document, run

from steelyard_bench.evaluation.cell import Group
from steelyard_bench.evaluation.page import write_page
from steelyard_bench.evaluation.work import SHARES


def curves(scale: float) -> dict[str, list[float]]:
    return {name: [scale * (1 + share) for share in SHARES] for name in ("ttft_ms", "tpot_ms")}


def sized(policy: str, needed: int | None) -> dict[str, object]:
    name = "conversation-x4-capacity"
    made = run(name, policy) | {"instances_needed": needed, "probes": {"96": 0.931}}
    return {**made, "id": f"{name}/{policy}/1"}


def whole() -> dict[str, object]:
    """Something of every part of the page."""
    x4, x5, mixed = "conversation-x4", "conversation-x5", "conversation-x2.5-mixed"
    return document(
        [
            cell(x4) | {"curves": True},
            cell(x5) | {"rate": 5.0},
            cell(mixed, Group.MIXED),
            cell("conversation-x4-wrong", Group.WRONG),
            cell("conversation-x3.5-h100-8b", Group.PROFILE),
            cell("conversation-x4-capacity", Group.CAPACITY),
        ],
        [
            run(x4, "adaptive", ttft=512.5, tpot=22.25) | {"curves": curves(2.0)},
            run(x4, "multiplicative", ttft=640.0, tpot=25.0) | {"curves": curves(3.0)},
            run(x4, "vllm", ttft=1025.0, tpot=44.5),
            run(x4, "least-ttft", ttft=400.0, tpot=30.0),
            run(x5, "adaptive", ttft=700.0),
            run(mixed, "adaptive"),
            run("conversation-x4-wrong", "adaptive:base=2", ttft=600.0, tpot=24.0),
            run("conversation-x3.5-h100-8b", "adaptive"),
            sized("adaptive", 12),
            sized("vllm", 20),
            sized("round-robin", None),
        ],
    )


def test_the_page_shows_what_the_json_says(tmp_path: Path) -> None:
    page = write_page(whole(), tmp_path).read_text()

    assert "| conversation-x4 | real | 0.300 | 512 | -19.9 % | -50 % | +28 % (least-ttft) |" in page
    assert "| vllm | 20 (adaptive -40 %) |" in page
    assert "| round-robin | more than 96 (93.1 % there) |" in page
    assert "| base=2 | 6.2 % of 19.9 % | 4.0 % of 11.0 % | **no** |" in page
    assert "missing" not in page.split("##")[0]


def test_pictures_are_the_ones_that_the_page_names_and_come_out_the_same(tmp_path: Path) -> None:
    page = write_page(whole(), tmp_path)
    folder = tmp_path / "evaluation"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    write_page(whole(), tmp_path)

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert set(before) == {"capacity.svg", "hits.svg", "latency-conversation-x4.svg", "rates.svg"}
    for name in before:
        assert f"(evaluation/{name})" in page.read_text()


def test_what_is_quick_stale_or_missing_is_said_first(tmp_path: Path) -> None:
    made = document([], [], quick=True, stale=3, missing=7)

    opening = write_page(made, tmp_path).read_text().split("##")[0]

    assert "Do not quote it" in opening
    assert "seeds of the full grid" not in opening
    assert "3 runs are of older code or inputs" in opening
    assert "7 runs of the full grid are missing" in opening


def test_fewer_seeds_than_the_full_grid_has_are_said(tmp_path: Path) -> None:
    opening = write_page(document([], [], seeds=2), tmp_path).read_text()

    assert "2 of the 5 seeds of the full grid" in opening
