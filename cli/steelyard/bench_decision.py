"""`steelyard bench decision`: what choosing an instance costs."""

import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from steelyard.bench_bar import bars
from steelyard.load import PLAIN_WIDTH, write_json
from steelyard_bench.decision import FULL, QUICK, Report, measure
from steelyard_bench.wire.machine import machine


@click.command(name="decision")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
)
@click.option("--quick", is_flag=True, help="Small sizes: shows that it runs, measures nothing.")
def command(json_path: Path | None, *, quick: bool) -> None:
    """Time decisions on a full prefix index, and weigh that index. Takes a minute or two."""
    with bars() as progress:
        report = measure(QUICK if quick else FULL, progress)
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    _show(Console(width=width, highlight=False), report)
    if json_path is not None:
        write_json(json_path, {"quick": quick, "machine": machine()} | asdict(report))


def _show(console: Console, report: Report) -> None:
    table = Table("us", "engines", "tokens", "blocks", "holders", "p50", "p99", "CPU p99")
    for column in table.columns[1:]:
        column.justify = "right"
    for label, timings in (("usual", report.cases), ("worst", report.worst_cases)):
        for timing in timings:
            sizes = (timing.instances, timing.prompt_tokens)
            held = (timing.blocks_indexed, timing.block_holders)
            took = (timing.p50_us, timing.p99_us, timing.p99_cpu_us)
            table.add_row(label, *(f"{figure:,.0f}" for figure in sizes + held + took))
    console.print(table)
    for found in report.footprints:
        console.print(
            f"index, {found.kind}: {found.bytes_per_holder:.1f} bytes per block and holder "
            f"({found.blocks:,} blocks, {found.holders:,} holders)"
        )
    console.print(f"hashing 400 kB: {report.hash_400kB_us:.0f} us")
