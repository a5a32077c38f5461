"""`steelyard simulate`: compare routing policies on a trace, in virtual time."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from steelyard.load import PLAIN_WIDTH, FilePath, PositiveFloat, PositiveInt, number, write_json
from steelyard_router.scheduling.request import SLO
from steelyard_simulator.engine.profile import PROFILES
from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.selection import Window
from steelyard_simulator.load.trace import BLOCK_TOKENS, Trace
from steelyard_simulator.replay.change import Change
from steelyard_simulator.replay.parallel import Cell, cores, run_all
from steelyard_simulator.replay.registry import PolicyNameError, names, parse
from steelyard_simulator.replay.report import Report
from steelyard_simulator.replay.scenario import Hardware, Load, Scenario, Sight, prepare

FROM_ZERO = click.FloatRange(min=0)


class Names(click.ParamType[tuple[str, ...]]):
    """Policies, separated by commas."""

    name = "a,b"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        given = tuple(text.strip() for text in str(value).split(",") if text.strip())
        try:
            for name in given:
                parse(name)
        except PolicyNameError as exc:
            self.fail(str(exc), param, ctx)
        if not given:
            self.fail(f"name at least one of {', '.join(names())}", param, ctx)
        return given


class Seeds(click.ParamType[tuple[int, ...]]):
    """Whole numbers, separated by commas."""

    name = "1,2"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            return tuple(int(text) for text in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers such as 1,2,3", param, ctx)


class Slow(click.ParamType[tuple[int, float]]):
    """COUNTxFACTOR."""

    name = "NxF"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, float]:
        count, _, factor = str(value).partition("x")
        try:
            slow = int(count), float(factor)
        except ValueError:
            slow = 0, 0.0
        if slow[0] < 1 or slow[1] <= 0:
            self.fail(f"{value!r} is not COUNTxFACTOR such as 8x2.5", param, ctx)
        return slow


class Changes(click.ParamType[Change]):
    """KIND@SECONDS:INSTANCE."""

    name = "kind@s:i"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Change:
        try:
            return Change.parse(str(value))
        except ValueError as exc:
            self.fail(str(exc), param, ctx)


@click.command(name="simulate")
@click.option(
    "--trace", "trace_path", type=FilePath, required=True, help="JSONL or CSV, maybe gzipped."
)
@click.option("--instances", type=PositiveInt, default=16, help="Engines in the fleet (16).")
@click.option(
    "--policy", "policies", type=Names(), default="default", help="One or more, by name (default)."
)
@click.option("--rate-scale", type=PositiveFloat, default=1.0, help="Factor on the trace's rate.")
@click.option(
    "--profile",
    type=click.Choice(sorted(PROFILES)),
    default="reference",
    help="What the engines are (reference).",
)
@click.option(
    "--slow", type=Slow(), multiple=True, help="So many of the engines are that much slower: 8x2.5."
)
@click.option(
    "--event",
    "changes",
    type=Changes(),
    multiple=True,
    help="join, leave, fail, restart or flush, as in fail@120:3 (engines count from 0).",
)
@click.option("--seeds", type=Seeds(), default="1", help="One run each, paired over policies (1).")
@click.option("--routers", type=PositiveInt, default=1, help="Router replicas that share no state.")
@click.option("--metrics-interval", type=FROM_ZERO, default=1.0, help="Seconds between polls (1).")
@click.option("--metrics-delay", type=FROM_ZERO, default=0.0, help="Seconds until polls are seen.")
@click.option("--tell-speed", is_flag=True, help="Tell routers how fast each engine is.")
@click.option(
    "--block-tokens",
    type=PositiveInt,
    default=BLOCK_TOKENS,
    help="Tokens a block id stands for, where the trace does not say (512).",
)
@click.option(
    "--spread/--no-spread",
    default=True,
    help="Lay times rounded to 3 s evenly over each step (on).",
)
@click.option("--poisson", is_flag=True, help="Draw arrival times anew, at the same mean rate.")
@click.option(
    "--think-time/--open-loop",
    "think_time",
    default=None,
    help="By session and pause, or by timestamp (default: as the trace allows).",
)
@click.option("--sessions", type=PositiveInt, help="With --think-time: sessions at a time.")
@click.option("--start", "start_s", type=FROM_ZERO, default=0.0, help="Seconds to skip.")
@click.option("--duration", "duration_s", type=PositiveFloat, help="Seconds of the trace to play.")
@click.option("--limit", type=PositiveInt, help="At most this many requests.")
@click.option("--max-input", type=PositiveInt, help="Leave out prompts of more tokens.")
@click.option("--output-cap", type=PositiveInt, help="Ask for at most this many output tokens.")
@click.option("--slo-ttft-ms", type=PositiveFloat, help="Target of every request.")
@click.option("--slo-tpot-ms", type=PositiveFloat, help="Target of every request.")
@click.option("--slo-e2e-ms", type=PositiveFloat, help="Target of every request.")
@click.option("--jobs", type=PositiveInt, help="Processes (one per core).")
@click.option("--json", "json_path", type=FilePath, help="Write every run here.")
def command(
    *,
    trace_path: Path,
    instances: int,
    policies: tuple[str, ...],
    rate_scale: float,
    profile: str,
    slow: tuple[tuple[int, float], ...],
    changes: tuple[Change, ...],
    seeds: tuple[int, ...],
    routers: int,
    metrics_interval: float,
    metrics_delay: float,
    tell_speed: bool,
    block_tokens: int,
    spread: bool,
    poisson: bool,
    think_time: bool | None,
    sessions: int | None,
    start_s: float,
    duration_s: float | None,
    limit: int | None,
    max_input: int | None,
    output_cap: int | None,
    slo_ttft_ms: float | None,
    slo_tpot_ms: float | None,
    slo_e2e_ms: float | None,
    jobs: int | None,
    json_path: Path | None,
) -> None:
    """Compare routing policies on a trace, in virtual time: no server, no GPU, no waiting.

    The router's own code decides, for engines that are simulated step by step. Policies see only
    what a router sees. The same seed gives the same result.
    """
    try:
        trace = read_trace(trace_path, block_tokens=block_tokens)
    except LoadError as exc:
        raise click.ClickException(str(exc)) from exc
    closed = trace.closed_loop if think_time is None else think_time
    scenario = Scenario(
        hardware=Hardware(instances, profile, slow, changes),
        load=Load(
            window=Window(start_s, duration_s, limit, max_input, output_cap),
            rate_scale=rate_scale,
            spread=spread,
            poisson=poisson,
            closed=closed,
            users=_users(trace, sessions, closed=closed),
        ),
        sight=Sight(routers, metrics_interval, metrics_delay, tell_speed),
        slo=SLO(_seconds(slo_ttft_ms), _seconds(slo_tpot_ms), _seconds(slo_e2e_ms)),
    )
    cells = [Cell(policy, seed) for policy in policies for seed in seeds]
    reports = _run(trace, scenario, cells, jobs or cores())
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
    _show(console, reports)
    if json_path is not None:
        write_json(json_path, {"runs": [report.to_dict() for report in reports]})


def _users(trace: Trace, sessions: int | None, *, closed: bool) -> int | None:
    """Sessions at a time; None: each begins at its own time."""
    if sessions is not None and not closed:
        raise click.UsageError("--sessions needs --think-time")
    return 8 if sessions is None and closed and trace.closed_loop else sessions


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _run(trace: Trace, scenario: Scenario, cells: Sequence[Cell], jobs: int) -> list[Report]:
    try:
        scenario.hardware.slowness()
        planned = len(prepare(trace, scenario))
        if not planned:
            raise click.ClickException(f"{trace.path}: no request lies within the limits")
        with _progress(planned * len(cells)) as show:
            return run_all(trace, scenario, cells, jobs=jobs, on_progress=show)
    except ValueError as exc:
        raise click.ClickException(str(exc)) from exc


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar that counts requests over all runs, on stderr."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("requests", total=total)
        yield lambda done: bars.update(task, completed=done)
        bars.update(task, completed=total)


def _show(console: Console, reports: Sequence[Report]) -> None:
    """A row per policy: means over its seeds."""
    first = reports[0]
    table = Table(
        "policy", "hit", "TTFT ms", "p50", "p99", "TPOT ms", "p50", "p99", "E2E ms", "SLO"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for policy in dict.fromkeys(report.policy for report in reports):
        runs = [report for report in reports if report.policy == policy]
        spreads = [[run.ttft, run.tpot, run.e2e] for run in runs]
        ttft, tpot, e2e = zip(*spreads, strict=True)
        table.add_row(
            policy,
            f"{fmean(run.hit_ratio for run in runs):.3f}",
            *(_mean([getattr(one, part) for one in ttft]) for part in ("mean", "p50", "p99")),
            *(_mean([getattr(one, part) for one in tpot]) for part in ("mean", "p50", "p99")),
            _mean([one.mean for one in e2e]),
            f"{100 * fmean(fmean(run.attainment.values()) for run in runs):.1f} %",
        )
    seeds = len({report.seed for report in reports})
    console.print(
        f"{first.trace} x{first.rate_scale:g}: {first.requests} requests, "
        f"{first.instances} instances, {seeds} seed{'s' * (seeds > 1)}"
    )
    console.print(table)
    if failed := sum(report.failed for report in reports):
        console.print(f"{failed} requests failed over all runs")


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return number(fmean(known) if known else None)
