"""`steelyard bench wire`: what the router costs on the wire, beside its peers."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from steelyard.load import INTERRUPTED, PLAIN_WIDTH, write_json
from steelyard.up import STEELYARD
from steelyard_bench.wire import wrk
from steelyard_bench.wire.cell import CELLS, Cell
from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.figure import Figure, Ratio, Sample, Value, compare, figures
from steelyard_bench.wire.job import Job, measure
from steelyard_bench.wire.machine import machine, versions
from steelyard_bench.wire.target import OURS, PEERS, TARGETS, usual

MEASURES = {
    "requests_per_s": "req/s",
    "cpu_us_per_request": "CPU per request",
    "cpu_us_per_chunk": "CPU per chunk",
    "rss_bytes": "memory",
}
NOTES = """\
CPU in us: all threads of the router's processes over requests, or over output chunks (16 a request in
stream cells). Memory: the peak of all runs. paced-100: 100 streams of a chunk every 20 ms; its p50 and
p99 are how much later than its schedule a chunk comes. steelyard-bare: our byte path alone, with round
robin over a path whose requests are not read."""


def _names(_: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """A comma-separated list of known names."""
    if value is None:
        return None
    known = [cell.name for cell in CELLS] if param.name == "cells" else list(TARGETS)
    names = [name.strip() for name in value.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise click.BadParameter(f"{', '.join(unknown)}: give some of {', '.join(known)}")
    return names


@click.command(name="wire")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=3.0,
    show_default=True,
    help="Of each cell, target and run.",
)
@click.option("--engines", type=click.IntRange(1, 16), default=2, show_default=True)
@click.option(
    "--peers-venv",
    "peers",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    envvar="STEELYARD_PEERS_VENV",
    help="Environment with sglang-router and vllm-router; `make peers` makes one in build/peers.",
)
@click.option("--cells", callback=_names, help="Comma-separated; all by default.")
@click.option("--targets", callback=_names, help="Comma-separated; by default those installed.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path))
def command(
    *,
    runs: int,
    seconds: float,
    engines: int,
    peers: Path | None,
    cells: list[str] | None,
    targets: list[str] | None,
    json_path: Path | None,
) -> None:
    """Measure requests per second, CPU and memory of the router under wrk, beside its peers.

    Every target runs in front of the same dummy engines; runs are interleaved and medians shown.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    try:
        job = Job(
            cells=[cell for cell in CELLS if cells is None or cell.name in cells],
            targets=targets or usual(peers),
            runs=runs,
            seconds=seconds,
            engines=engines,
            steelyard=STEELYARD,
            peers=peers,
            wrk=wrk.find(),
        )
        with (
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            _screen(console, job) as screen,
        ):
            samples = runner.run(measure(job, screen))
            told = runner.run(versions(peers, job.targets, job.wrk))
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except WireError as error:
        raise click.ClickException(str(error)) from error
    found = figures(samples)
    ratios = compare(found, OURS, PEERS)
    _show(console, found, ratios)
    if json_path is not None:
        write_json(json_path, _document(job, found, ratios, told))


class _Screen:
    """One bar over all steps."""

    def __init__(self, progress: Progress, steps: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=steps)

    def starting(self, targets: Sequence[str]) -> None:
        self._progress.update(self._task, description=f"starting {', '.join(targets)}")

    def measuring(self, run: int, cell: Cell, target: str) -> None:
        self._progress.update(self._task, description=f"run {run + 1}: {cell.name} {target}")

    def measured(self, sample: Sample) -> None:
        self._progress.advance(self._task)
        if sample.load.errors:
            self._progress.console.print(
                f"[bold red]{sample.load.errors} errors[/]: {sample.cell.name} {sample.target}"
            )


@contextmanager
def _screen(console: Console, job: Job) -> Iterator[_Screen]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Screen(progress, job.steps)


def _show(console: Console, found: Sequence[Figure], ratios: Sequence[Ratio]) -> None:
    console.print(_figures_table(found))
    if ratios:
        console.print(_verdict_table(ratios))
    console.print(NOTES)


def _figures_table(found: Sequence[Figure]) -> Table:
    columns = ("req/s", "p50 ms", "p99 ms", "CPU/request", "CPU/chunk", "MB", "errors")
    table = Table("cell", "target", *columns)
    for column in table.columns[2:]:
        column.justify = "right"
    for place, figure in enumerate(found):
        last = place + 1 == len(found) or found[place + 1].cell != figure.cell
        values = figure.medians
        table.add_row(
            figure.cell,
            figure.target,
            _number(values["requests_per_s"], 0),
            _number(values["p50_ms"], 2),
            _number(values["p99_ms"], 2),
            _number(values["cpu_us_per_request"], 1),
            _number(values["cpu_us_per_chunk"], 1),
            _number((values["rss_bytes"] or 0) / 1e6, 1),
            _number(values["errors"], 0),
            end_section=last,
        )
    return table


def _verdict_table(ratios: Sequence[Ratio]) -> Table:
    """Ours over the best peer's, in each measure; whose that is stands in parentheses."""
    table = Table("ours / best peer", *MEASURES.values())
    by_cell: dict[str, dict[str, Ratio]] = {}
    for ratio in ratios:
        by_cell.setdefault(ratio.cell, {})[ratio.measure] = ratio
    for cell, row in by_cell.items():
        table.add_row(cell, *(_ratio(row.get(measure)) for measure in MEASURES))
    return table


def _ratio(ratio: Ratio | None) -> str:
    return "-" if ratio is None else f"{ratio.ratio:.2f} ({ratio.peer})"


def _number(value: Value, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _document(
    job: Job, found: Sequence[Figure], ratios: Sequence[Ratio], told: dict[str, str]
) -> dict[str, object]:
    return {
        "cells": [figure.to_dict() for figure in found],
        "ours_over_best_peer": [
            {"cell": r.cell, "measure": r.measure, "peer": r.peer, "ratio": round(r.ratio, 3)}
            for r in ratios
        ],
        "machine": machine(),
        "versions": told,
        "settings": {"runs": job.runs, "seconds": job.seconds, "engines": job.engines},
    }
