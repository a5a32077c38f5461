"""Which load `steelyard simulate` plays: a trace or a mix; and which options go with which."""

from collections.abc import Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.mix import Mix
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.trace import Trace

MIX_DURATION_S = 600.0
TRACE_ONLY = {
    "rate_scale": "--rate-scale",
    "block_tokens": "--block-tokens",
    "spread": "--spread",
    "poisson": "--poisson",
    "think_time": "--think-time",
    "sessions": "--sessions",
    "start_s": "--start",
    "slo_ttft_ms": "--slo-ttft-ms",
    "slo_tpot_ms": "--slo-tpot-ms",
    "slo_e2e_ms": "--slo-e2e-ms",
}
MIX_ONLY = {"rate_per_s": "--rate", "sized": "--capacity"}


def asked_of(
    trace_path: Path | None,
    mix: str | None,
    rate_per_s: float | None,
    duration_s: float | None,
    block_tokens: int,
) -> Trace | Mix:
    """The load that is named, if nothing is said of it that only the other kind has."""
    if (trace_path is None) == (mix is None):
        raise click.UsageError("give one of --trace and --mix")
    _refuse(MIX_ONLY if mix is None else TRACE_ONLY, "--mix" if mix is None else "--trace")
    if mix is not None:
        if rate_per_s is None:
            raise click.UsageError("--mix needs --rate")
        return Mix(mix, rate_per_s, duration_s or MIX_DURATION_S)
    assert trace_path is not None
    try:
        return read_trace(trace_path, block_tokens=block_tokens)
    except LoadError as exc:
        raise click.ClickException(str(exc)) from exc


def _refuse(options: Mapping[str, str], owner: str) -> None:
    context = click.get_current_context()
    for parameter, option in options.items():
        if context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} goes with {owner} only")


def users_of(asked: Trace | Mix, sessions: int | None, *, closed: bool) -> int | None:
    """Sessions at a time; None: each begins at its own time."""
    if sessions is not None and not closed:
        raise click.UsageError("--sessions needs --think-time")
    recorded = isinstance(asked, Trace) and asked.closed_loop
    return 8 if sessions is None and closed and recorded else sessions
