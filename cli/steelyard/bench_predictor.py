"""`steelyard bench predictor`: how good latency predictions are, and what they cost."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from steelyard.bench_bar import bars
from steelyard.bench_report import json_option, quick_option, write_report
from steelyard.terminal import figure_table, make_console
from steelyard_bench.predictor.report import FULL, QUICK, Report, measure


@click.command(name="predictor")
@json_option
@quick_option
def command(json_path: Path | None, *, quick: bool) -> None:
    """Predict every request of simulated mixes, beside an oracle and a constant. Takes minutes."""
    with bars() as progress:
        report = measure(QUICK if quick else FULL, progress)
    _show(make_console(), report)
    write_report(json_path, report, quick=quick)


def _show(console: Console, report: Report) -> None:
    console.print(_steady(report))
    console.print(_spans(report))
    console.print(_bars(report))


def _steady(report: Report) -> Table:
    """Medians, and means in brackets."""
    columns = ("router", "oracle", "constant")
    table = figure_table("median (mean) error", "rate", "workload", *columns, names=3)
    for one in report.steady:
        keys = dict.fromkeys((found.kind, found.workload) for found in one.errors)
        for kind, workload in keys:
            by_rival = {
                found.rival: f"{found.median:.1%} ({found.mape:.0%})"
                for found in one.errors
                if (found.kind, found.workload) == (kind, workload)
            }
            told = (by_rival.get(rival, "-") for rival in columns)
            table.add_row(kind.upper(), f"{one.rate_per_s:g}/s", workload, *told)
    return table


def _spans(report: Report) -> Table:
    columns = ("predicted", "TTFT", "TPOT", "told: TTFT", "TPOT")
    table = figure_table("median error as the clock drops", *columns)
    for span in report.spans:
        name = "before" if span.first is None else f"requests {span.first} to {span.last}"
        share = f"{span.predicted / span.requests:.0%}" if span.requests else "-"
        errors = (span.ttft, span.tpot, span.told_ttft, span.told_tpot)
        table.add_row(name, share, *map(_percent, errors))
    return table


def _bars(report: Report) -> Table:
    table = figure_table("bar", "measured", "at most", "")
    for bar in report.bars:
        value = "-" if bar.value is None else f"{bar.value:.3g}"
        table.add_row(bar.name, value, f"{bar.limit:g}", "holds" if bar.holds else "missed")
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
