"""`steelyard bench decision`: what choosing an instance costs."""

from pathlib import Path

import click
from rich.console import Console

from steelyard.bench_bar import bars
from steelyard.bench_report import json_option, quick_option, write_report
from steelyard.terminal import figure_table, make_console
from steelyard_bench.decision import FULL, QUICK, Report, measure


@click.command(name="decision")
@json_option
@quick_option
def command(json_path: Path | None, *, quick: bool) -> None:
    """Time decisions on a full prefix index, and weigh that index. Takes a minute or two."""
    with bars() as progress:
        report = measure(QUICK if quick else FULL, progress)
    _show(make_console(), report)
    write_report(json_path, report, quick=quick)


def _show(console: Console, report: Report) -> None:
    table = figure_table(
        "us", "known", "engines", "tokens", "blocks", "holders", "p50", "p99", "CPU p99"
    )
    for label, timings in (("usual", report.cases), ("worst", report.worst_cases)):
        for timing in timings:
            sizes = (timing.instances, timing.prompt_tokens)
            held = (timing.blocks_indexed, timing.block_holders)
            took = (timing.p50_us, timing.p99_us, timing.p99_cpu_us)
            table.add_row(
                label, timing.known, *(f"{figure:,.0f}" for figure in sizes + held + took)
            )
    console.print(table)
    for found in report.footprints:
        console.print(
            f"index, {found.kind}: {found.bytes_per_holder:.1f} bytes per block and holder "
            f"({found.blocks:,} blocks, {found.holders:,} holders)"
        )
    console.print(f"hashing 400 kB: {report.hash_400kB_us:.0f} us")
