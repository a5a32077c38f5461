"""`steelyard bench wire`: what the router costs on the wire, beside its peers."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from steelyard.load import write_json
from steelyard.parameter import FilePath, PositiveInt
from steelyard.terminal import INTERRUPTED, make_console
from steelyard.up import STEELYARD
from steelyard.wire_table import NOTES, figures_table, verdict_table
from steelyard_bench.wire import wrk
from steelyard_bench.wire.cell import CELLS, Cell
from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.figure import Figure, Ratio, Sample, compare, figures, policy_us
from steelyard_bench.wire.job import Job, measure
from steelyard_bench.wire.machine import machine, versions
from steelyard_bench.wire.target import BARE, OURS, PEERS, TARGETS, usual


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
@click.option("--runs", type=PositiveInt, default=5, show_default=True)
@click.option(
    "--seconds",
    type=PositiveInt,
    default=3,
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
@click.option("--json", "json_path", type=FilePath)
def command(
    *,
    runs: int,
    seconds: int,
    engines: int,
    peers: Path | None,
    cells: list[str] | None,
    targets: list[str] | None,
    json_path: Path | None,
) -> None:
    """Measure requests per second, CPU and memory of the router under wrk, beside its peers.

    Every target runs in front of the same dummy engines; runs are interleaved and medians shown.
    """
    console = make_console()
    if peers is None and targets is None:
        console.print("peers are left out: run `make peers`, then give --peers-venv build/peers")
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
    console.print(figures_table(found))
    if ratios:
        console.print(verdict_table(ratios))
    for cell, cost in policy_us(found, OURS, BARE).items():
        console.print(
            f"the policy costs {cost:,.1f} us of CPU a request over the bare router: {cell}"
        )
    console.print(NOTES)


def _document(
    job: Job, found: Sequence[Figure], ratios: Sequence[Ratio], told: dict[str, str]
) -> dict[str, object]:
    return {
        "cells": [figure.to_dict() for figure in found],
        "ours_over_best_peer": [
            {"cell": r.cell, "measure": r.measure, "peer": r.peer, "ratio": round(r.ratio, 3)}
            for r in ratios
        ],
        "policy_us_per_request": policy_us(found, OURS, BARE),
        "machine": machine(),
        "versions": told,
        "settings": {"runs": job.runs, "seconds": job.seconds, "engines": job.engines},
    }
