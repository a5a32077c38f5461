"""The demo's picture: how long first tokens took, how much of the prompts was cached, and the
score.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steelyard_bench.demo import ArmResult

COLORS = ("#8a94a3", "#0b6e99", "#b5541c", "#4b7f52")
ALARM = "#c0392b"
DPI = 150


def draw(results: Sequence[ArmResult], speed: float, path: Path) -> None:
    """Writes a PNG."""
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=(3, 2))
    _draw_ttft(figure.add_subplot(grid[0, :2]), results)
    _draw_hits(figure.add_subplot(grid[0, 2]), results)
    _draw_score(figure.add_subplot(grid[1, :]), results, speed)
    figure.savefig(path, dpi=DPI)


def _draw_ttft(axes: Axes, results: Sequence[ArmResult]) -> None:
    for result, color in zip(results, COLORS, strict=False):
        seconds = np.array(result.ttft_s())
        share = np.arange(1, len(seconds) + 1) / max(1, len(seconds))
        mean = f", mean {seconds.mean():.2f} s" if len(seconds) else ""
        axes.step(seconds, 100 * share, color=color, lw=2, label=f"{result.strategy}{mean}")
    axes.set(
        title="Time to first token",
        xlabel="seconds (model time)",
        ylabel="% of requests within",
        xscale="log",
        ylim=(0, 100),
    )
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, loc="lower right")
    _tidy(axes)


def _draw_hits(axes: Axes, results: Sequence[ArmResult]) -> None:
    percents = [100 * (result.summary.hit_ratio or 0.0) for result in results]
    bars = axes.bar(
        [result.strategy for result in results], percents, color=COLORS[: len(results)], width=0.6
    )
    axes.bar_label(bars, fmt="%.1f %%", padding=2)
    axes.set(title="Prompt tokens found in cache", ylabel="%", ylim=(0, 1.25 * max(1.0, *percents)))
    _tidy(axes)


def _draw_score(axes: Axes, results: Sequence[ArmResult], speed: float) -> None:
    for result, color in zip(results, COLORS, strict=False):
        if samples := result.alerts.samples:
            times, values = zip(*samples, strict=True)
            axes.plot(np.array(times) * speed, values, color=color, lw=2, label=result.strategy)
    threshold = next((r.alerts.threshold for r in results if r.alerts.threshold is not None), None)
    if threshold is not None:
        axes.axhline(threshold, color=ALARM, ls="--", lw=1, label="alert threshold")
    axes.set(
        title="p95 score of the chosen instances, as the alert sees it",
        xlabel="seconds of the trace",
        ylabel="tokens x requests",
        yscale="log",
    )
    _mark(axes, results, speed)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 4)  # room for the legend
    axes.legend(frameon=False, ncols=5, loc="upper left")
    _tidy(axes)


def _mark(axes: Axes, results: Sequence[ArmResult], speed: float) -> None:
    """A filled triangle where an alert fired, an open one where it cleared."""
    changes = [change for result in results for change in result.alerts.changes]
    for firing, marker, face, label in (
        (True, "^", ALARM, "fired"),
        (False, "v", "white", "cleared"),
    ):
        points = [
            (change.at_s * speed, change.value)
            for change in changes
            if change.firing is firing and change.value is not None
        ]
        if points:
            times, values = zip(*points, strict=True)
            axes.plot(times, values, marker, color=ALARM, mfc=face, ms=8, zorder=5, label=label)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#e6e8eb", lw=0.8)
    axes.set_axisbelow(True)
