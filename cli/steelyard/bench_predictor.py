"""`steelyard bench predictor`: how good latency predictions are, and what they cost."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import aiohttp
import click
import uvloop
from rich.console import Console
from rich.table import Table

from steelyard.bench_bar import bars
from steelyard.bench_report import json_option, quick_option, write_report
from steelyard.parameter import FolderPath
from steelyard.terminal import INTERRUPTED, figure_table, make_console
from steelyard.up import STEELYARD
from steelyard_bench.fidelity.engine import Site
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.priority import ourselves_ahead
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.predictor import live
from steelyard_bench.predictor.engine import real, simulated
from steelyard_bench.predictor.report import FULL, QUICK, Bar, Report, Steady, measure
from steelyard_bench.predictor.row import RIVALS


@click.command(name="predictor")
@json_option
@quick_option
@click.option(
    "--engine",
    type=FolderPath,
    help="Predict for real engines, installed there (build/engine), behind a live router.",
)
@click.option(
    "--run-dir",
    type=FolderPath,
    default=Path("build/predictor"),
    show_default=True,
    help="Gets logs, configurations and a line per request, with --engine.",
)
@click.option(
    "--ahead",
    is_flag=True,
    help="Run engines before the processes of others, with --engine (root).",
)
def command(
    json_path: Path | None, engine: Path | None, run_dir: Path, *, quick: bool, ahead: bool
) -> None:
    """Predict every request of simulated mixes, beside an oracle and a constant. Takes minutes.

    With --engine, predict a smaller mix on two real engines, beside the constant; --quick has
    simulated ones in their place.
    """
    report: Report | live.LiveReport
    if engine is None:
        with bars() as progress:
            report = measure(QUICK if quick else FULL, progress)
        _show(make_console(), report)
    else:
        report = _live(Site(engine), run_dir, quick=quick, ahead=ahead)
        _show_live(make_console(), report)
    write_report(json_path, report, quick=quick)


def _live(site: Site, folder: Path, *, quick: bool, ahead: bool) -> live.LiveReport:
    try:
        if not quick:
            site.check()
        folder.mkdir(parents=True, exist_ok=True)
        with (
            ourselves_ahead() if ahead else nullcontext(),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            return runner.run(_run(site, folder, quick=quick, ahead=ahead))
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except FidelityError as exc:
        raise click.ClickException(str(exc)) from exc


async def _run(site: Site, folder: Path, *, quick: bool, ahead: bool) -> live.LiveReport:
    start, plan = (simulated, live.QUICK) if quick else (real(site), live.FULL)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        tell = partial(click.echo, err=True)
        ground = Ground(STEELYARD, folder, http, ahead)
        return await live.LiveStudy(ground, plan, start, tell).run()


def _show(console: Console, report: Report) -> None:
    console.print(_steady(report.steady, RIVALS))
    console.print(_spans(report))
    console.print(_bars(report.bars))


def _show_live(console: Console, report: live.LiveReport) -> None:
    for one in report.steady:
        console.print(
            f"{one.rate_per_s:g} of {report.possible_per_s:.1f} requests/s: "
            f"{one.predicted} of {one.requests} requests were predicted"
        )
    console.print(_steady(report.steady, live.RIVALS))
    console.print(_bars(report.bars))


def _steady(steady: Sequence[Steady], columns: Sequence[str]) -> Table:
    """Medians, and means in brackets."""
    table = figure_table("median (mean) error", "rate", "workload", *columns, names=3)
    for one in steady:
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


def _bars(held: Sequence[Bar]) -> Table:
    table = figure_table("bar", "measured", "at most", "")
    for bar in held:
        value = "-" if bar.value is None else f"{bar.value:.3g}"
        table.add_row(bar.name, value, f"{bar.limit:g}", "holds" if bar.holds else "missed")
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
