"""`steelyard bench ordering`: what ordering what waits costs, and how good the orders are."""

import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from steelyard.bench_bar import bars
from steelyard.load import PLAIN_WIDTH, write_json
from steelyard_bench.ordering.report import FULL, QUICK, Report, measure
from steelyard_bench.wire.machine import machine


@click.command(name="ordering")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
)
@click.option("--quick", is_flag=True, help="Small sizes: shows that it runs, measures nothing.")
def command(json_path: Path | None, *, quick: bool) -> None:
    """Time whole decisions, and compare orders on random queues. Takes a few minutes."""
    with bars() as progress:
        report = measure(QUICK if quick else FULL, progress)
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    _show(Console(width=width, highlight=False), report)
    if json_path is not None:
        write_json(json_path, {"quick": quick, "machine": machine()} | asdict(report))


def _show(console: Console, report: Report) -> None:
    console.print(_costs(report))
    console.print(_nearness(report))
    console.print(_gains(report))


def _table(*columns: str) -> Table:
    """The first is a name."""
    table = Table(*columns)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _costs(report: Report) -> Table:
    table = _table(
        "a decision, ms", "waiting", "engines", "p50", "p99", "block", "CPU p99", "CPU block"
    )
    for cost in report.cases:
        took = (cost.p50_ms, cost.p99_ms, cost.longest_block_ms)
        cpu = (cost.p99_cpu_ms, cost.longest_block_cpu_ms)
        sizes = (f"{cost.waiting:,}", str(cost.instances))
        table.add_row(cost.algorithm, *sizes, *(f"{each:.2f}" for each in took + cpu))
    return table


def _nearness(report: Report) -> Table:
    table = _table("annealing / the best", "cases", "within 2 %", "mean", "worst")
    for near in report.exact:
        shares = (f"{near.within:.1%}", f"{near.mean_ratio:.4f}", f"{near.worst_ratio:.3f}")
        table.add_row(near.form, str(near.cases), *shares)
    return table


def _gains(report: Report) -> Table:
    table = _table("G / best of EDF, laxity, SJF", "waiting", "cases", "mean", "SLOs met")
    for gain in report.queues:
        figures = (f"{gain.mean_ratio:.3f}", f"{gain.met:.1%}")
        table.add_row(gain.order, str(gain.waiting), str(gain.cases), *figures)
    return table
