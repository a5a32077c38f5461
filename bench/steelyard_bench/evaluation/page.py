"""docs/evaluation.md, written from the JSON alone: no figure on it comes from anywhere else."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from steelyard_bench.evaluation import section, study
from steelyard_bench.evaluation.bar import bars
from steelyard_bench.evaluation.grid import SEEDS
from steelyard_bench.evaluation.markdown import table, yes_no
from steelyard_bench.evaluation.picture import draw_all
from steelyard_bench.evaluation.result import Evaluation
from steelyard_bench.evaluation.source import SOURCES

FILE: Final = "evaluation.md"
PICTURES: Final = "evaluation"
OPENING: Final = """\
Every policy on every trace, on simulated engines in virtual time. `make evaluation` makes the
figures (`build/evaluation.json`), this page and its pictures; nothing was typed in but what the
last section quotes. The router's own code decides; an engine is a model of continuous batching
(`steelyard_simulator/engine`), so this compares placements and says nothing about a GPU."""


def write_page(document: Mapping[str, Any], docs: Path) -> Path:
    """With its pictures, in a folder beside it; returns its path."""
    evaluation = Evaluation(document)
    docs.mkdir(parents=True, exist_ok=True)
    pictures = {path.stem for path in draw_all(evaluation, docs / PICTURES)}
    path = docs / FILE
    path.write_text("\n\n".join(_parts(evaluation, pictures)) + "\n")
    return path


def _parts(evaluation: Evaluation, pictures: set[str]) -> Iterator[str]:
    yield "# Evaluation"
    yield _opening(evaluation)
    yield from _section("In short", section.summary(evaluation))
    yield from _section("What it has to reach", _bars(evaluation))
    yield from _section("Where others are better", section.losses(evaluation))
    yield from _section("What was replayed", [_sources(evaluation), section.METHOD])
    yield from _section("Cell by cell", section.cells(evaluation, pictures))
    yield from _section("Rates and hits", _pictures(pictures, "rates", "hits"))
    yield from _section("How many instances it takes", study.capacity(evaluation, pictures))
    yield from _section("Fleets of two speeds", study.mixed(evaluation))
    yield from _section("Knowing less, or something wrong", study.wrong(evaluation))
    yield from _section("Other hardware", study.profiles(evaluation))
    yield from _section("Beside what was published", study.published(evaluation))


def _section(title: str, parts: Iterable[str]) -> Iterator[str]:
    """Nothing at all where there is nothing to show."""
    found = [part for part in parts if part]
    if found:
        yield f"## {title}"
        yield from found


def _opening(evaluation: Evaluation) -> str:
    document = evaluation.document
    machine = document["machine"]
    lines = [
        OPENING,
        f"{len(document['runs'])} runs, {evaluation.cpu_s() / 60:.0f} minutes of CPU time",
        f"({machine['cpu']}, Python {machine['python']}).",
    ]
    if document["quick"]:
        lines.append("**The quick version: one seed of a few cells. Do not quote it.**")
    elif document["seeds"] < SEEDS:
        lines.append(f"**{document['seeds']} of the {SEEDS} seeds of the full grid.**")
    if document["stale"]:
        lines.append(f"**{document['stale']} runs are of older code or inputs.**")
    if document["missing"]:
        lines.append(f"**{document['missing']} runs of the full grid are missing.**")
    return "\n".join(lines)


def _bars(evaluation: Evaluation) -> Iterator[str]:
    """Of the default first; another of ours stands beside it."""
    for subject in evaluation.subjects:
        rows = [(bar.about, bar.measured, yes_no(bar.met)) for bar in bars(evaluation, subject)]
        yield table((f"`{subject}`", "measured", ""), rows, left=3)


def _sources(evaluation: Evaluation) -> str:
    used = {cell["source"] for cell in evaluation.cells.values()}
    rows = [
        (source.name, source.kind.value, source.about)
        for source in SOURCES.values()
        if source.name in used
    ]
    return table(("trace", "kind", "what it is"), rows, left=3)


def _pictures(pictures: set[str], *names: str) -> Iterator[str]:
    for name in names:
        if name in pictures:
            yield section.picture(name)
