"""`steelyard bench live-order`: what ordering is worth on real engines under too much load."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import click
import uvloop
from rich.table import Table

from steelyard.bench_report import engine_option, json_option, quick_option
from steelyard.load import write_json
from steelyard.parameter import FolderPath
from steelyard.terminal import INTERRUPTED, figure_table, make_console
from steelyard.up import STEELYARD
from steelyard_bench.fidelity.engine import Site
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.live_order.engine import real, simulated
from steelyard_bench.live_order.load import KINDS
from steelyard_bench.live_order.plan import FULL, QUICK
from steelyard_bench.live_order.study import Study
from steelyard_bench.live_order.summary import ALL
from steelyard_bench.live_order.verdict import bars
from steelyard_bench.wire.machine import machine

GROUPS: Final = (*(kind.name for kind in KINDS), ALL)


@click.command(name="live-order")
@json_option
@quick_option
@engine_option
@click.option(
    "--run-dir",
    type=FolderPath,
    default=Path("build/live-order"),
    show_default=True,
    help="Gets logs and configurations.",
)
def command(*, json_path: Path | None, quick: bool, engine: Path, run_dir: Path) -> None:
    """Overload three real engines, and see who is served in time, ordered and not.

    Takes about a quarter of an hour. --quick has simulated engines.
    """
    try:
        found = _measure(Site(engine), run_dir, quick=quick)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except FidelityError as exc:
        raise click.ClickException(str(exc)) from exc
    if json_path is not None:
        write_json(json_path, found)
    console = make_console()
    for phase in found["phases"]:
        console.print(_table(phase))
    for bar in () if quick else bars(found):
        click.echo(str(bar))


def _measure(site: Site, folder: Path, *, quick: bool) -> dict[str, Any]:
    if not quick:
        site.check()
    folder.mkdir(parents=True, exist_ok=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        document = runner.run(_run(site, folder, quick=quick))
    return {"quick": quick, "machine": machine(), **document}


async def _run(site: Site, folder: Path, *, quick: bool) -> dict[str, Any]:
    start, plan = (simulated, QUICK) if quick else (real(site), FULL)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        tell = partial(click.echo, err=True)
        return await Study(Ground(STEELYARD, folder, http), plan, start, tell).run()


def _table(phase: Mapping[str, Any]) -> Table:
    load = f"{phase['rate_per_s']:.1f} requests/s, {phase['capacity']['rate_per_s']:.1f} possible"
    table = figure_table(
        *("cell", "class", "in time", "TTFT", "E2E", "E2E p99", "longest wait"),
        *("refused", "lost", "served/s"),
        names=2,
        title=f"--scheduling-policy {phase['scheduling']}; {load}; means in s",
    )
    for one in phase["cells"]:
        for name in GROUPS:
            table.add_row(one["cell"] if name == GROUPS[0] else "", name, *_row(one, name))
    return table


def _row(cell: Mapping[str, Any], name: str) -> list[str]:
    found = cell["classes"][name]
    times = (found["ttft_ms"]["mean"], found["e2e_ms"]["mean"], found["e2e_ms"]["p99"])
    return [
        f"{found['attainment']:.1%}",
        *("-" if ms is None else f"{ms / 1000:.2f}" for ms in times),
        f"{found['longest_wait_s']:.2f}",
        str(found["rejected"]),
        str(found["failed"] + found["unanswered"]),
        f"{cell['served_per_s']:.1f}" if name == ALL else "",
    ]
