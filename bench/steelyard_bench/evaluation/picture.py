"""The page's pictures, as SVG that comes out the same for the same figures."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steelyard_bench.evaluation.grid import DRAWN, LEARNED
from steelyard_bench.evaluation.result import Evaluation
from steelyard_bench.evaluation.work import FLEETS, SHARES

COLORS: Final = {
    LEARNED: "#0b6e99",
    "multiplicative": "#b5541c",
    "vllm": "#8a94a3",
    "sglang-cache-aware": "#4b7f52",
    "llm-d-affinity": "#8e5ea2",
    "smetric": "#c9a227",
}
OTHER: Final = "#b9c0ca"
STYLE: Final[Any] = {"svg.hashsalt": "steelyard", "svg.fonttype": "none", "font.size": 9}


def draw_all(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Those for which there are figures."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    drawings: Sequence[tuple[str, Callable[[Evaluation], Figure | None]]] = (
        *((f"latency-{name}", _latency(name)) for name in evaluation.names("main")),
        ("rates", _rates),
        ("hits", _hits),
        ("capacity", _capacity),
    )
    with mpl.rc_context(STYLE):
        for name, draw in drawings:
            if (figure := draw(evaluation)) is not None:
                path = folder / f"{name}.svg"
                figure.savefig(path, metadata={"Date": None, "Creator": "steelyard"})
                written.append(path)
    return written


def _latency(cell: str) -> Callable[[Evaluation], Figure | None]:
    """Distributions of the first seed."""

    def draw(evaluation: Evaluation) -> Figure | None:
        curves = {
            policy: run["curves"]
            for policy in DRAWN
            if (run := evaluation.runs(cell, policy).get(1)) and "curves" in run
        }
        if not curves:
            return None
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        for axes, metric, title in zip(
            figure.subplots(1, 2, sharey=True),
            ("ttft_ms", "tpot_ms"),
            ("Time to first token, ms", "Time per output token, ms"),
            strict=True,
        ):
            for policy, curve in curves.items():
                axes.plot(curve[metric], SHARES, color=COLORS[policy], label=policy, lw=1.6)
            axes.set(title=title, xscale="log", ylim=(0, 100))
            axes.xaxis.set_major_formatter("{x:g}")
            _tidy(axes)
        figure.axes[0].set_ylabel(f"% of requests within, {cell}")
        figure.axes[0].legend(frameon=False, loc="lower right")
        return figure

    return draw


def _rates(evaluation: Evaluation) -> Figure | None:
    cells = sorted(
        (evaluation.cells[name]["rate"], name)
        for group in ("main", "sweep")
        for name in evaluation.names(group)
        if evaluation.cells[name]["source"] == "conversation"
    )
    if len(cells) < 2:
        return None
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, metric, title in zip(
        figure.subplots(1, 2),
        ("ttft", "tpot"),
        ("TTFT mean, ms", "TPOT mean, ms"),
        strict=True,
    ):
        for policy in DRAWN:
            points = [
                (rate, found.mean)
                for rate, name in cells
                if (found := evaluation.figure(name, policy, metric)) is not None
            ]
            if points:
                rates, means = zip(*points, strict=True)
                axes.plot(rates, means, "o-", color=COLORS[policy], label=policy, lw=1.6, ms=3)
        axes.set(title=title, xlabel="conversation, times its recorded rate", yscale="log")
        axes.set_xticks([rate for rate, _ in cells])
        for format_ticks in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            format_ticks("{x:g}")
        _tidy(axes)
    figure.axes[0].legend(frameon=False)
    return figure


def _hits(evaluation: Evaluation) -> Figure | None:
    cells = [
        name
        for name in evaluation.names("main")
        if any((found := evaluation.figure(name, p, "hit")) and found.mean > 0 for p in DRAWN)
    ]
    if not cells:
        return None
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(DRAWN)
    for place, policy in enumerate(DRAWN):
        bars = [
            (column + place * width, found.mean)
            for column, name in enumerate(cells)
            if (found := evaluation.figure(name, policy, "hit")) is not None
        ]
        if bars:
            at, heights = zip(*bars, strict=True)
            axes.bar(at, heights, width, color=COLORS[policy], label=policy)
    middle = [column + 0.4 - width / 2 for column in range(len(cells))]
    axes.set_xticks(middle, cells)
    axes.set(title="Share of prompt tokens found in cache", ylim=(0, 1))
    axes.legend(frameon=False, ncols=3, loc="upper left")
    _tidy(axes)
    return figure


def _capacity(evaluation: Evaluation) -> Figure | None:
    cells = evaluation.names("capacity")
    if not cells:
        return None
    figure = Figure(figsize=(9, 3.3), layout="constrained")
    for axes, cell in zip(figure.subplots(1, len(cells), squeeze=False)[0], cells, strict=True):
        sizes = sorted(_sizes(evaluation, cell), key=lambda each: -each[1])
        colors = [COLORS.get(policy, OTHER) for policy, _ in sizes]
        drawn = axes.barh([p for p, _ in sizes], [size for _, size in sizes], color=colors)
        axes.bar_label(drawn, padding=2)
        axes.set(title=f"{cell.removesuffix('-capacity')}: instances for 95 % within the targets")
        axes.title.set_fontsize(9)
        axes.margins(x=0.12)
        _tidy(axes)
    return figure


def _sizes(evaluation: Evaluation, cell: str) -> Iterator[tuple[str, int]]:
    for policy in evaluation.policies(cell):
        for run in evaluation.runs(cell, policy).values():
            yield policy, run["instances_needed"] or FLEETS[1]


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#e6e8eb", lw=0.6)
    axes.set_axisbelow(True)
