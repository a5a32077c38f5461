"""`steelyard demo`: a real trace through four simulated engines, once per strategy."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import click
import uvloop
from rich.console import Console
from rich.table import Table

from steelyard.load import number, progress_bar, write_json, write_lines
from steelyard.parameter import FolderPath
from steelyard.terminal import INTERRUPTED, figure_table, make_console
from steelyard.up import STEELYARD
from steelyard_bench.demo import ArmResult, play
from steelyard_bench.scene import Arm, DemoError, Scene, load_scene
from steelyard_bench.watch import AlertChange
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.summary import Spread, Summary


@click.command(name="demo")
@click.option("--out", type=FolderPath, default=Path("build/demo"), show_default=True)
@click.option(
    "--examples",
    type=FolderPath,
    default=Path("examples/demo"),
    show_default=True,
    help="The manifests and the trace.",
)
def command(*, out: Path, examples: Path) -> None:
    """Play a real trace through four simulated engines, once per strategy, and compare.

    Leaves demo.json and demo.png in --out, and a folder with the logs and requests of each run.
    """
    console = make_console()
    try:
        scene = load_scene(examples)
        out.mkdir(parents=True, exist_ok=True)
        console.print(_opening(scene))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            results = runner.run(play(scene, STEELYARD, out, _Screen(console, scene.speed)))
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except DemoError as exc:
        raise click.ClickException(str(exc)) from exc
    except OSError as exc:
        raise click.ClickException(f"{out} cannot be used: {exc.strerror or exc}") from exc
    _finish(console, scene, results, out)


class _Screen:
    """Lines and a progress bar on one console."""

    def __init__(self, console: Console, speed: float) -> None:
        self._console = console
        self._speed = speed

    def starting(self, arm: Arm) -> None:
        self._console.print(f"\n[bold]{arm.strategy}[/bold]: starting engines and router ...")

    def replaying(
        self, arm: Arm, total: int
    ) -> AbstractContextManager[Callable[[Measurement], None]]:
        return progress_bar(arm.strategy, total, self._console)

    def alert(self, change: AlertChange) -> None:
        at = f"{change.at_s:5.1f} s ({change.at_s * self._speed:.0f} s of the trace)"
        word = "[bold red]ALERT FIRING [/]" if change.firing else "[bold green]ALERT CLEARED[/]"
        value = "no data" if change.value is None else f"p95 {change.value:,.0f}"
        bound = "" if change.threshold is None else f", threshold {change.threshold:,.0f}"
        self._console.print(f"{at}  {word}  {change.alert}: {value}{bound}")

    def settling(self, seconds: float) -> None:
        self._console.print(f"the load is over; waiting up to {seconds:.0f} s for the alert ...")


def _opening(scene: Scene) -> str:
    last_s = max((request.at_s for request in scene.requests), default=0.0) * scene.speed
    return (
        f"{scene.trace.name}: {len(scene.requests)} requests in {last_s:.0f} s, played "
        f"{scene.speed:g} times as fast through {scene.engines} simulated engines that run "
        f"{scene.speed:g} times as fast.\nAll times below are model time: wall time x "
        f"{scene.speed:g}, unless it says otherwise."
    )


def _finish(console: Console, scene: Scene, results: Sequence[ArmResult], out: Path) -> None:
    from steelyard_bench.chart import draw  # noqa: PLC0415  matplotlib takes a second to import

    console.print()
    console.print(_table(results))
    for line in _notes(results):
        console.print(line)
    write_json(out / "demo.json", _document(scene, results))
    for result in results:
        write_lines(out / result.strategy / "requests.jsonl", result.measurements, scene.speed)
    draw(results, scene.speed, out / "demo.png")
    console.print(f"picture: {out / 'demo.png'}   figures: {out / 'demo.json'}")


def _table(results: Sequence[ArmResult]) -> Table:
    """A column for each strategy, and what the last gains over the first."""
    table = figure_table("", *(result.strategy for result in results), "change")
    summaries = [result.summary for result in results]
    for name in ("ttft", "tpot", "e2e"):
        spreads: list[Spread] = [getattr(summary, name) for summary in summaries]
        for part in ("mean", "p50", "p99"):
            values: list[float | None] = [getattr(spread, part) for spread in spreads]
            label = f"{name.upper()} {part}, ms"
            table.add_row(label, *map(number, values), _change(values), end_section=part == "p99")
    hits = [summary.hit_ratio for summary in summaries]
    table.add_row("hit ratio", *("-" if h is None else f"{h:.3f}" for h in hits), _change(hits))
    table.add_row("goodput", *map(_goodput, summaries), "")
    table.add_row("errors", *(str(summary.error_count) for summary in summaries), "")
    return table


def _change(values: Sequence[float | None]) -> str:
    first, last = values[0], values[-1]
    return f"{100 * (last / first - 1):+.0f} %" if first and last is not None else ""


def _goodput(summary: Summary) -> str:
    return f"{100 * (summary.slo_met or 0) / max(1, summary.requests):.0f} %"


def _notes(results: Sequence[ArmResult]) -> Iterator[str]:
    goal = results[0].summary.objective
    yield f"goodput: requests with TTFT <= {goal.ttft_ms:g} ms and TPOT <= {goal.tpot_ms:g} ms"
    for result in results:
        fired = sum(change.firing for change in result.alerts.changes)
        cleared = len(result.alerts.changes) - fired
        still = ", firing at the end" if result.alerts.firing else ""
        yield f"alerts with {result.strategy}: fired {fired} x, cleared {cleared} x{still}"


def _document(scene: Scene, results: Sequence[ArmResult]) -> dict[str, object]:
    return {
        "trace": scene.trace.name,
        "engines": scene.engines,
        "speed": scene.speed,
        "runs": [result.to_dict(scene.speed) for result in results],
    }
