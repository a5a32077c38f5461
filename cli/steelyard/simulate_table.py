"""What `steelyard simulate` prints: a row for each policy and scheduler, means over its seeds."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from rich.console import Console
from rich.table import Table

from steelyard.load import number
from steelyard.terminal import figure_table
from steelyard_simulator.replay.capacity import Capacity
from steelyard_simulator.replay.report import Report
from steelyard_simulator.replay.scheduler import NONE

Key = tuple[str, str]
"""A policy and a scheduler."""


def show(console: Console, reports: Sequence[Report]) -> None:
    """Latencies and attainment; what waited and was refused, where a router holds requests."""
    by_key: dict[Key, list[Report]] = {}
    for report in reports:
        by_key.setdefault((report.setup.policy, report.setup.scheduler), []).append(report)
    console.print(_title(reports))
    console.print(_latencies(by_key))
    workloads = sorted({name for report in reports for name in report.attainment})
    pooled = any(scheduler != NONE for _, scheduler in by_key)
    if pooled or len(workloads) > 1:
        console.print(_attainment(by_key, workloads))
    if failed := sum(report.failed for report in reports):
        console.print(f"{failed} requests failed over all runs")


def show_capacity(console: Console, found: Mapping[Key, Capacity], wanted: float) -> None:
    table = figure_table("policy", "scheduler", "req/s", "probes")
    for (policy, scheduler), one in found.items():
        table.add_row(policy, scheduler, number(one.rate_per_s), str(len(one.probes)))
    console.print(f"Highest rate at which {100 * wanted:g} % of the requests meet their SLOs")
    console.print(table)


def _title(reports: Sequence[Report]) -> str:
    setup = reports[0].setup
    seeds = len({report.setup.seed for report in reports})
    load = (
        f"{setup.trace} x{setup.rate_scale:g}"
        if setup.rate_per_s is None
        else f"{setup.trace} at {setup.rate_per_s:g} req/s"
    )
    return (
        f"{load}: {reports[0].requests} requests, "
        f"{setup.instances} instances, {seeds} seed{'s' * (seeds > 1)}"
    )


def _latencies(by_key: Mapping[Key, Sequence[Report]]) -> Table:
    columns = ("hit", "TTFT ms", "p50", "p99", "TPOT ms", "p50", "p99", "E2E ms", "p99", "SLO")
    table = figure_table("policy", *columns)
    for key, runs in by_key.items():
        spreads = [[run.ttft, run.tpot, run.e2e] for run in runs]
        ttft, tpot, e2e = zip(*spreads, strict=True)
        table.add_row(
            _name(key),
            f"{fmean(run.hit_ratio for run in runs):.3f}",
            *(_mean([getattr(one, part) for one in ttft]) for part in ("mean", "p50", "p99")),
            *(_mean([getattr(one, part) for one in tpot]) for part in ("mean", "p50", "p99")),
            *(_mean([getattr(one, part) for one in e2e]) for part in ("mean", "p99")),
            _percent(fmean(run.attained for run in runs)),
        )
    return table


def _attainment(by_key: Mapping[Key, Sequence[Report]], workloads: Sequence[str]) -> Table:
    table = figure_table("policy", *workloads, "G", "wait ms", "p99", "max", "rejected")
    for key, runs in by_key.items():
        table.add_row(
            _name(key),
            *(_percent(fmean(run.attainment.get(name, 0.0) for run in runs)) for name in workloads),
            f"{fmean(run.g for run in runs):.4f}",
            *(_mean([getattr(run.wait, part) for run in runs]) for part in ("mean", "p99", "max")),
            _percent(fmean(run.rejected / run.requests for run in runs)),
        )
    return table


def _name(key: Key) -> str:
    policy, scheduler = key
    return policy if scheduler == NONE else f"{policy}, {scheduler}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return number(fmean(known) if known else None)
