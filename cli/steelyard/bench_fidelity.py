"""`steelyard bench fidelity`: the simulation beside real engines and a live router."""

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import aiohttp
import click
import uvloop

from steelyard.bench_report import engine_option
from steelyard.parameter import FilePath, FolderPath
from steelyard.terminal import INTERRUPTED
from steelyard.up import STEELYARD
from steelyard_bench.evaluation.source import SOURCES, SourceError
from steelyard_bench.fidelity.engine import Site
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.page import write_page
from steelyard_bench.fidelity.priority import ourselves_ahead
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.fidelity.store import load, save
from steelyard_bench.fidelity.study import Plan, Study
from steelyard_bench.fidelity.verdict import bars
from steelyard_bench.wire.machine import machine
from steelyard_simulator.load.trace import Trace

TRACE: Final = "conversation"


@click.command(name="fidelity")
@click.option(
    "--json",
    "json_path",
    type=FilePath,
    default=Path("build/fidelity.json"),
    show_default=True,
    help="What was measured.",
)
@click.option(
    "--docs", type=FolderPath, default=Path("docs"), show_default=True, help="Gets fidelity.md."
)
@click.option("--traces", type=FolderPath, default=Path("bench/traces"), show_default=True)
@engine_option
@click.option(
    "--run-dir",
    type=FolderPath,
    default=Path("build/fidelity"),
    show_default=True,
    help="Gets logs, configurations and the profile.",
)
@click.option(
    "--ahead", is_flag=True, help="Run before the processes of others, on a shared machine (root)."
)
@click.option("--no-run", is_flag=True, help="Write the page from the JSON that is there.")
def command(
    *,
    json_path: Path,
    docs: Path,
    traces: Path,
    engine: Path,
    run_dir: Path,
    ahead: bool,
    no_run: bool,
) -> None:
    """Fit the simulated engine to a real one, then compare simulated and live replays.

    Takes about seven minutes, and needs two cores that do nothing else.
    """
    try:
        if not no_run:
            trace = SOURCES[TRACE].read(traces)
            save(json_path, _measure(trace, Site(engine), run_dir, ahead=ahead))
        document = load(json_path)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except (FidelityError, SourceError) as exc:
        raise click.ClickException(str(exc)) from exc
    for bar in bars(document):
        click.echo(str(bar))
    click.echo(f"figures: {json_path}; the page is {write_page(document, docs)}")


def _measure(trace: Trace, site: Site, folder: Path, *, ahead: bool) -> dict[str, Any]:
    site.check()
    folder.mkdir(parents=True, exist_ok=True)
    with (
        ourselves_ahead() if ahead else nullcontext(),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return {"machine": machine(), **runner.run(_run(trace, site, folder, ahead=ahead))}


async def _run(trace: Trace, site: Site, folder: Path, *, ahead: bool) -> dict[str, Any]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        ground = Ground(STEELYARD, folder, http, ahead)
        return await Study(ground, Plan(site), trace, click.echo).run()
