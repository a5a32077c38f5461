"""`steelyard load`: replay a trace against an OpenAI-compatible URL."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

import click
import orjson
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from steelyard.parameter import FilePath, PositiveFloat, PositiveInt
from steelyard.terminal import INTERRUPTED, figure_table, make_console
from steelyard_simulator.load.client import READ_TIMEOUT_S, Target
from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.job import Job, run
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.selection import Selection, Window, plan
from steelyard_simulator.load.summary import Objective, Summary, summarise, time_name
from steelyard_simulator.load.trace import BLOCK_TOKENS, Trace

SHOWN_ERRORS = 5
LAG_SHOWN_MS = 20


@click.command(name="load")
@click.option(
    "--trace", "trace_path", type=FilePath, required=True, help="JSONL or CSV, maybe gzipped."
)
@click.option("--url", required=True, help="Base URL of an OpenAI-compatible server.")
@click.option("--model", help="Needed only where the server serves several.")
@click.option("--speed", type=PositiveFloat, default=1.0, help="Factor on the trace's rate.")
@click.option("--limit", type=PositiveInt, help="At most this many requests.")
@click.option(
    "--start",
    "start_s",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Seconds of the trace to skip.",
)
@click.option("--duration", "duration_s", type=PositiveFloat, help="Seconds of the trace to play.")
@click.option(
    "--max-input", type=PositiveInt, help="Leave out prompts of more tokens, and what follows them."
)
@click.option("--output-cap", type=PositiveInt, help="Ask for at most this many output tokens.")
@click.option(
    "--block-size",
    type=PositiveInt,
    default=BLOCK_TOKENS,
    help="Tokens a block id stands for, where the trace does not say.",
)
@click.option(
    "--spread/--no-spread",
    "even",
    default=True,
    help="Lay times that were rounded to 3 s evenly over each step (on).",
)
@click.option(
    "--think-time/--open-loop",
    "think_time",
    default=None,
    help="By session and pause, or by timestamp (default: as the trace allows).",
)
@click.option(
    "--sessions", type=PositiveInt, default=8, help="With --think-time: sessions at a time."
)
@click.option("--concurrency-cap", type=PositiveInt, help="At most this many requests in flight.")
@click.option("--header", "headers", multiple=True, metavar="K:V", help="Sent with every request.")
@click.option("--api-key", envvar="STEELYARD_API_KEY", help="Sent as a bearer token.")
@click.option("--slo-ttft-ms", type=PositiveFloat, help="Goodput counts requests within it.")
@click.option("--slo-tpot-ms", type=PositiveFloat, help="Goodput counts requests within it.")
@click.option(
    "--time-scale",
    type=PositiveFloat,
    default=1.0,
    help="Report latencies times this: model time of engines that run this much faster.",
)
@click.option("--json", "json_path", type=FilePath, help="Write the summary here.")
@click.option("--out", "out_path", type=FilePath, help="Write one JSON line per request here.")
@click.option("--seed", type=int, default=0, help="Decides the words of the prompts.")
@click.option(
    "--read-timeout",
    "read_timeout_s",
    type=PositiveFloat,
    default=READ_TIMEOUT_S,
    help="Seconds without a byte before a request is given up.",
)
def command(
    *,
    trace_path: Path,
    url: str,
    model: str | None,
    speed: float,
    limit: int | None,
    start_s: float,
    duration_s: float | None,
    max_input: int | None,
    output_cap: int | None,
    block_size: int,
    even: bool,
    think_time: bool | None,
    sessions: int,
    concurrency_cap: int | None,
    headers: Sequence[str],
    api_key: str | None,
    slo_ttft_ms: float | None,
    slo_tpot_ms: float | None,
    time_scale: float,
    json_path: Path | None,
    out_path: Path | None,
    seed: int,
    read_timeout_s: float,
) -> None:
    """Replay a trace against an OpenAI-compatible URL and measure what clients see.

    Prompts are rebuilt from the trace's block ids: equal ids give equal text.
    """
    window = Window(start_s, duration_s, limit, max_input, output_cap)
    trace, selection = _prepare(trace_path, block_size, window, speed=speed, even=even)
    closed = trace.closed_loop if think_time is None else think_time
    job = Job(
        target=Target(url, model, _parse_headers(headers), api_key),
        requests=selection.requests,
        block_tokens=trace.block_tokens,
        users=sessions if closed else None,
        concurrency=concurrency_cap,
        seed=seed,
        read_timeout_s=read_timeout_s,
    )
    for path in (json_path, out_path):
        if path is not None:
            _make_folder(path)
    console = make_console()
    console.print(_opening(trace, selection, job, time_scale))
    measurements, whole = _measure(job, out_path, time_scale)
    objective = Objective(slo_ttft_ms, slo_tpot_ms)
    summary = summarise(measurements, time_scale=time_scale, objective=objective)
    _print_summary(console, summary, planned=len(job.requests))
    if json_path is not None:
        write_json(json_path, summary.to_dict())
    if not whole:
        raise SystemExit(INTERRUPTED)
    if summary.error_count == summary.requests:
        raise SystemExit(1)


def _prepare(
    path: Path, block_tokens: int, window: Window, *, speed: float, even: bool
) -> tuple[Trace, Selection]:
    try:
        trace = read_trace(path, block_tokens=block_tokens)
    except LoadError as exc:
        raise click.ClickException(str(exc)) from exc
    selection = plan(trace, window, speed=speed, even=even)
    if not selection.requests:
        raise click.ClickException(f"{path}: no request lies within the window and the limits")
    return trace, selection


def _make_folder(path: Path) -> None:
    """Before the replay: a long run must not end in an error about a missing folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise click.ClickException(f"{path.parent} cannot be made: {exc.strerror}") from exc


def _parse_headers(given: Sequence[str]) -> dict[str, str]:
    headers = {}
    for text in given:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise click.BadParameter(f"{text!r} is not NAME:VALUE", param_hint="--header")
        headers[name.strip()] = value.strip()
    return headers


def _opening(trace: Trace, selection: Selection, job: Job, time_scale: float) -> str:
    requests = selection.requests
    how = (
        f"open loop over {max(r.at_s for r in requests):.0f} s"
        if job.users is None
        else f"by think time, {job.users} sessions at a time"
    )
    left_out = f"; {selection.too_long} longer prompts left out" if selection.too_long else ""
    clock = (
        f"latencies in model time (wall time x {time_scale:g})"
        if time_name(time_scale) == "model"
        else "latencies in wall time"
    )
    return (
        f"{trace.path.name} ({trace.schema}): {len(requests)} requests{left_out}, {how}\n"
        f"to {job.target.base}; {clock}"
    )


def _measure(job: Job, out_path: Path | None, time_scale: float) -> tuple[list[Measurement], bool]:
    """The measurements, and whether all were made (False: Ctrl-C)."""
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        lines = stack.enter_context(out_path.open("wb")) if out_path is not None else None
        show = stack.enter_context(progress_bar("replay", len(job.requests), Console(stderr=True)))

        def on_done(measurement: Measurement) -> None:
            measurements.append(measurement)
            show(measurement)
            if lines is not None:
                lines.write(_line(measurement, time_scale))

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(run(job, on_done))
        except KeyboardInterrupt:
            return measurements, False
        except LoadError as exc:
            raise click.ClickException(str(exc)) from exc
    return measurements, True


@contextmanager
def progress_bar(
    title: str, total: int, console: Console
) -> Iterator[Callable[[Measurement], None]]:
    """A bar that counts measurements; only its last state where the console is no terminal."""
    errors = 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[errors]} errors"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=total, errors=errors)

        def show(measurement: Measurement) -> None:
            nonlocal errors
            errors += measurement.error is not None
            progress.update(task, advance=1, errors=errors)

        yield show


def _print_summary(console: Console, summary: Summary, *, planned: int) -> None:
    if summary.requests < planned:
        console.print(f"stopped: {summary.requests} of {planned} requests were measured")
    table = figure_table("", *(f"{name}, ms" for name in ("mean", "p50", "p90", "p99")))
    for name, spread in (("TTFT", summary.ttft), ("TPOT", summary.tpot), ("E2E", summary.e2e)):
        table.add_row(name, *(number(value) for value in spread.values()))
    console.print(table)
    console.print("\n".join(_facts(summary)))


def _facts(summary: Summary) -> Iterator[str]:
    yield f"requests   {summary.requests}, errors {summary.error_count}"
    for message, count in islice(summary.errors.items(), SHOWN_ERRORS):
        yield f"           {count} x {message}"
    hits = "not reported" if summary.hit_ratio is None else f"{summary.hit_ratio:.3f}"
    yield f"hit ratio  {hits}"
    rate = summary.output_tokens / summary.duration_s if summary.duration_s else 0.0
    clock = time_name(summary.time_scale)
    yield f"duration   {summary.duration_s:.1f} s of {clock} time, {rate:,.0f} output tokens/s"
    if summary.slo_met is not None and summary.requests:
        share = 100 * summary.slo_met / summary.requests
        rate = summary.goodput_per_s or 0.0
        yield f"goodput    {rate:.3f} requests/s within the SLO, {share:.1f} %"
    if (lag_ms := summary.lag.p99) is not None and lag_ms > LAG_SHOWN_MS:
        yield f"late       requests left up to {lag_ms:.0f} ms (p99, wall) after their time"


def number(value: float | None) -> str:
    """Three digits are enough to compare by eye."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def write_lines(path: Path, measurements: Iterable[Measurement], time_scale: float) -> None:
    """One JSON line per request."""
    path.write_bytes(b"".join(_line(measurement, time_scale) for measurement in measurements))


def _line(measurement: Measurement, time_scale: float) -> bytes:
    return orjson.dumps(measurement.to_dict(time_scale)) + b"\n"


def write_json(path: Path, value: object) -> None:
    """Makes the folder too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
