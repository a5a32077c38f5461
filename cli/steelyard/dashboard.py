"""The screens of `steelyard up`: a live table on a terminal, plain lines anywhere else."""

from collections.abc import Iterator, Sequence
from typing import Self

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from steelyard.terminal import figure_table
from steelyard_operator.local.admin import AlertState, Instance, Quantiles, Status
from steelyard_operator.local.view import ServiceView


class PlainScreen:
    """One line after the other."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def say(self, text: str) -> None:
        click.echo(text)

    def show(self, services: Sequence[ServiceView]) -> None:
        """Lines that repeat every second would only hide the others."""


class LiveScreen:
    """Lines above, the table below, drawn anew each second."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, services: Sequence[ServiceView]) -> None:
        self._live.update(
            Group(*(part for view in services for part in tables(view))), refresh=True
        )


def tables(view: ServiceView) -> Iterator[Table]:
    """Instances, then workloads, then alerts; what is empty is left out."""
    status = view.status or Status()
    yield _instances(view, status)
    if status.workloads:
        yield _workloads(status)
    if status.alerts:
        yield _alerts(status)


def _instances(view: ServiceView, status: Status) -> Table:
    title = f"{view.name} · {view.url} · revision {status.revision or '-'}"
    columns = ("Instance", "State", "Q tokens", "B requests", "C tokens")
    table = figure_table(*columns, names=2, title=title)
    known = {instance.id: instance for instance in status.instances}
    for name in sorted(known.keys() | view.engines.keys(), key=_natural):
        table.add_row(name, *_instance(view.engines.get(name), known.get(name)))
    return table


def _instance(own: str | None, seen: Instance | None) -> tuple[str, str, str, str]:
    """`own` is what we know of a process of ours, `seen` what the router knows of the endpoint."""
    if seen is None:
        return own or "-", "", "", ""
    state = own if own not in (None, "ready") else seen.state or "ready"
    loads = (seen.queued_tokens, seen.requests, seen.context_tokens)
    queued, requests, context = (f"{load:,.0f}" for load in loads)
    return str(state), queued, requests, context


def _workloads(status: Status) -> Table:
    table = figure_table("Workload", "Score p95", "TTFT p95, ms", "TPOT p95, ms", "E2E p95, ms")
    for workload in status.workloads:
        spreads = (workload.score, workload.ttft_ms, workload.tpot_ms, workload.e2e_ms)
        table.add_row(workload.name, *(_p95(spread) for spread in spreads))
    return table


def _alerts(status: Status) -> Table:
    columns = ("Alert", "Workload", "Metric", "State", "Value", "Threshold")
    table = figure_table(*columns, names=4)
    for alert in status.alerts:
        style = "bold red" if alert.firing else None
        table.add_row(*_alert(alert), style=style)
    return table


def _alert(alert: AlertState) -> tuple[str, ...]:
    numbers = (_number(alert.value), _number(alert.threshold))
    return alert.alert, alert.workload, alert.metric, alert.state, *numbers


def _p95(spread: Quantiles | None) -> str:
    return _number(spread.p95 if spread is not None else None)


def _number(value: float | None) -> str:
    """Three digits are enough to compare by eye."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _natural(name: str) -> tuple[str, int]:
    """chat-2 before chat-10."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number)) if number.isdecimal() else (name, -1)
