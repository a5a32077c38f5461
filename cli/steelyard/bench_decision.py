"""`steelyard bench decision`: what choosing an instance costs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Table

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
    with _progress() as progress:
        report = measure(QUICK if quick else FULL, progress)
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    _show(Console(width=width, highlight=False), report)
    if json_path is not None:
        write_json(json_path, {"quick": quick, "machine": machine()} | asdict(report))


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """A bar for each thing that is done, on stderr."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def advance(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=1.0)
            bars.update(tasks[what], completed=share)

        yield advance


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
