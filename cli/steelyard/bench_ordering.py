"""`steelyard bench ordering`: what ordering what waits costs, and how good the orders are."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from steelyard.bench_bar import bars
from steelyard.bench_report import json_option, quick_option, write_report
from steelyard.terminal import figure_table, make_console
from steelyard_bench.ordering.report import FULL, QUICK, Report, measure


@click.command(name="ordering")
@json_option
@quick_option
def command(json_path: Path | None, *, quick: bool) -> None:
    """Time whole decisions, and compare orders on random queues. Takes a few minutes."""
    with bars() as progress:
        report = measure(QUICK if quick else FULL, progress)
    _show(make_console(), report)
    write_report(json_path, report, quick=quick)


def _show(console: Console, report: Report) -> None:
    console.print(_costs(report))
    console.print(_nearness(report))
    console.print(_gains(report))


def _costs(report: Report) -> Table:
    table = figure_table(
        "a decision, ms", "waiting", "engines", "p50", "p99", "block", "CPU p99", "CPU block"
    )
    for cost in report.cases:
        took = (cost.p50_ms, cost.p99_ms, cost.longest_block_ms)
        cpu = (cost.p99_cpu_ms, cost.longest_block_cpu_ms)
        sizes = (f"{cost.waiting:,}", str(cost.instances))
        table.add_row(cost.algorithm, *sizes, *(f"{each:.2f}" for each in took + cpu))
    return table


def _nearness(report: Report) -> Table:
    table = figure_table("annealing / the best", "cases", "within 2 %", "mean", "worst")
    for near in report.exact:
        shares = (f"{near.within:.1%}", f"{near.mean_ratio:.4f}", f"{near.worst_ratio:.3f}")
        table.add_row(near.form, str(near.cases), *shares)
    return table


def _gains(report: Report) -> Table:
    table = figure_table("G / best of EDF, laxity, SJF", "waiting", "cases", "mean", "SLOs met")
    for gain in report.queues:
        figures = (f"{gain.mean_ratio:.3f}", f"{gain.met:.1%}")
        table.add_row(gain.order, str(gain.waiting), str(gain.cases), *figures)
    return table
