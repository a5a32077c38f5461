"""`steelyard simulate`: compare routing policies on a trace or a mix, in virtual time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from steelyard.load import write_json
from steelyard.parameter import FilePath, PositiveFloat, PositiveInt
from steelyard.profile_name import ProfileName
from steelyard.simulate_load import asked_of, users_of
from steelyard.simulate_table import Key, show, show_capacity
from steelyard.simulate_type import POLICIES, SCHEDULERS, Changes, Seeds, Slow
from steelyard.terminal import make_console
from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.mix import MIXES, Mix
from steelyard_simulator.load.selection import Window
from steelyard_simulator.load.trace import BLOCK_TOKENS, Trace
from steelyard_simulator.replay.capacity import WANTED, Capacity, capacity
from steelyard_simulator.replay.change import Change
from steelyard_simulator.replay.parallel import Cell, cores, run_all
from steelyard_simulator.replay.report import Report
from steelyard_simulator.replay.scenario import Hardware, Load, Scenario, Sight, drawn, prepare
from steelyard_simulator.replay.scheduler import NONE, check

FROM_ZERO = click.FloatRange(min=0)
TRACE_INSTANCES = 16
MIX_INSTANCES = 4


@click.command(name="simulate")
@click.option("--trace", "trace_path", type=FilePath, help="JSONL or CSV, maybe gzipped.")
@click.option(
    "--mix",
    type=click.Choice(sorted(MIXES)),
    help="Instead: workloads with SLOs of their own, Poisson arrivals, recorded lengths.",
)
@click.option("--rate", "rate_per_s", type=PositiveFloat, help="Of a mix, in requests a second.")
@click.option("--instances", type=PositiveInt, help="Engines in the fleet (16; for a mix 4).")
@click.option(
    "--policy", "policies", type=POLICIES, default="default", help="One or more, by name (default)."
)
@click.option(
    "--scheduler",
    "schedulers",
    type=SCHEDULERS,
    default=NONE,
    help="What orders requests that wait, one or more by name, crossed with the policies (none).",
)
@click.option("--rate-scale", type=PositiveFloat, default=1.0, help="Factor on the trace's rate.")
@click.option(
    "--profile",
    type=ProfileName(),
    default="reference",
    help="What the engines are (reference).",
)
@click.option(
    "--max-sequences", type=PositiveInt, help="Requests that an engine runs at a time (profile's)."
)
@click.option(
    "--kv-tokens", type=PositiveInt, help="Tokens that an engine has KV memory for (profile's)."
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
@click.option(
    "--duration",
    "duration_s",
    type=PositiveFloat,
    help="Seconds of the trace to play (all), or of the mix to draw (600).",
)
@click.option("--limit", type=PositiveInt, help="At most this many requests.")
@click.option("--max-input", type=PositiveInt, help="Leave out prompts of more tokens.")
@click.option("--output-cap", type=PositiveInt, help="Ask for at most this many output tokens.")
@click.option("--slo-ttft-ms", type=PositiveFloat, help="Target of every request.")
@click.option("--slo-tpot-ms", type=PositiveFloat, help="Target of every request.")
@click.option("--slo-e2e-ms", type=PositiveFloat, help="Target of every request.")
@click.option(
    "--capacity",
    "sized",
    is_flag=True,
    help="Search the highest rate of the mix at which 90 % meet their SLOs, from --rate on.",
)
@click.option("--jobs", type=PositiveInt, help="Processes (one per core).")
@click.option("--json", "json_path", type=FilePath, help="Write every run here.")
def command(
    *,
    trace_path: Path | None,
    mix: str | None,
    rate_per_s: float | None,
    instances: int | None,
    policies: tuple[str, ...],
    schedulers: tuple[str, ...],
    rate_scale: float,
    profile: str,
    max_sequences: int | None,
    kv_tokens: int | None,
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
    sized: bool,
    jobs: int | None,
    json_path: Path | None,
) -> None:
    """Compare routing policies on a trace or a mix, in virtual time: no server, no GPU, no waiting.

    The router's own code decides, for engines that are simulated step by step. Policies see only
    what a router sees. The same seed gives the same result.
    """
    asked = asked_of(trace_path, mix, rate_per_s, duration_s, block_tokens)
    closed = isinstance(asked, Trace) and (asked.closed_loop if think_time is None else think_time)
    usual = MIX_INSTANCES if isinstance(asked, Mix) else TRACE_INSTANCES
    played_s = duration_s if isinstance(asked, Trace) else None
    scenario = Scenario(
        hardware=Hardware(instances or usual, profile, slow, changes, max_sequences, kv_tokens),
        load=Load(
            window=Window(start_s, played_s, limit, max_input, output_cap),
            rate_scale=rate_scale,
            spread=spread,
            poisson=poisson,
            closed=closed,
            users=users_of(asked, sessions, closed=closed),
        ),
        sight=Sight(routers, metrics_interval, metrics_delay, tell_speed),
        slo=SLO(_seconds(slo_ttft_ms), _seconds(slo_tpot_ms), _seconds(slo_e2e_ms)),
    )
    keys = _keys(policies, schedulers)
    console = make_console()
    jobs = jobs or cores()
    if isinstance(asked, Mix) and sized:
        found = _capacities(asked, scenario, keys, seeds, jobs)
        show_capacity(console, found, WANTED)
        document = {"capacity": [_sized(key, one) for key, one in found.items()]}
    else:
        cells = [Cell(policy, seed, scheduler) for policy, scheduler in keys for seed in seeds]
        reports = _run(asked, scenario, cells, jobs)
        show(console, reports)
        document = {"runs": [report.to_dict() for report in reports]}
    if json_path is not None:
        write_json(json_path, document)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _keys(policies: Sequence[str], schedulers: Sequence[str]) -> list[Key]:
    """Every policy with every scheduler."""
    keys = [(policy, scheduler) for policy in policies for scheduler in schedulers]
    try:
        for policy, scheduler in keys:
            check(scheduler, policy)
    except ValueError as exc:
        raise click.UsageError(str(exc)) from exc
    return keys


def _run(asked: Trace | Mix, scenario: Scenario, cells: Sequence[Cell], jobs: int) -> list[Report]:
    try:
        scenario.hardware.slowness()
        planned = len(prepare(drawn(asked, cells[0].seed), scenario))
        if not planned:
            name = asked.path if isinstance(asked, Trace) else asked.name
            raise click.ClickException(f"{name}: no request lies within the limits")
        with _progress(planned * len(cells)) as tell:
            return run_all(asked, scenario, cells, jobs=jobs, on_progress=tell)
    except ValueError as exc:
        raise click.ClickException(str(exc)) from exc


def _capacities(
    mix: Mix, scenario: Scenario, keys: Sequence[Key], seeds: Sequence[int], jobs: int
) -> dict[Key, Capacity]:
    try:
        return {
            (policy, scheduler): capacity(
                mix, scenario, policy, seeds, scheduler=scheduler, jobs=jobs
            )
            for policy, scheduler in keys
        }
    except ValueError as exc:
        raise click.ClickException(str(exc)) from exc


def _sized(key: Key, found: Capacity) -> dict[str, object]:
    policy, scheduler = key
    return {
        "policy": policy,
        "scheduler": scheduler,
        "rate_per_s": round(found.rate_per_s, 4),
        "probes": [
            {"rate_per_s": round(rate, 4), "attainment": round(share, 5)}
            for rate, share in found.probes.items()
        ],
    }


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
