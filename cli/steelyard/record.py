"""`steelyard record`: keeps what a router tells of its traffic as a trace."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from steelyard.parameter import FilePath
from steelyard.terminal import INTERRUPTED
from steelyard_simulator.recording.reader import RecordingError, Summary, record
from steelyard_simulator.recording.trace_file import TraceFile

MEGABYTE = 1_000_000


@click.command(name="record")
@click.option(
    "--url",
    "urls",
    multiple=True,
    default=("http://127.0.0.1:9090",),
    show_default=True,
    help="A router's admin address; give it once for each replica.",
)
@click.option(
    "--for",
    "seconds",
    type=click.IntRange(1, 86_400),
    default=600,
    show_default=True,
    help="Seconds to record.",
)
@click.option("--out", type=FilePath, required=True, help="The trace; a name in .gz is compressed.")
@click.option(
    "--max-mb",
    type=click.FloatRange(min=0.01),
    default=256.0,
    show_default=True,
    help="Stop at so many megabytes, before compression.",
)
def command(*, urls: tuple[str, ...], seconds: int, out: Path, max_mb: float) -> None:
    """Record a router's traffic for `steelyard simulate`: no text, only what is needed to replay.

    For each request: when it came, how long prompt and answer were, its workload, and numbers that
    tell which prompts begin alike. The router must allow it with `debug: {record: true}` in its
    configuration, or STEELYARD_RECORD=1 in its environment.
    """
    file = TraceFile(out, max_bytes=int(max_mb * MEGABYTE))
    try:
        with _progress(seconds) as show:
            summary = asyncio.run(record(urls, file, seconds=seconds, on_request=show))
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{out}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        click.echo(f"interrupted; {out} holds {file.requests} requests", err=True)
        sys.exit(INTERRUPTED)
    _tell(out, file, summary)


def _tell(out: Path, file: TraceFile, summary: Summary) -> None:
    click.echo(f"{out}: {summary.requests} requests over {file.span_s:.0f} s")
    if summary.dropped:
        click.echo(f"{summary.dropped} are missing: this reader was too slow for them")
    if summary.unfinished:
        click.echo(f"{summary.unfinished} are missing: they ran on when the recording ended")
    if summary.full:
        click.echo("it ended early: the file is as large as --max-mb allows")
    for url, reason in summary.reasons.items():
        click.echo(f"{url} ended early: {reason}")
    if summary.requests:
        click.echo(f"play it: steelyard simulate --trace {out} --instances N")


@contextlib.contextmanager
def _progress(seconds: int) -> Iterator[Callable[[int], None]]:
    """A bar over the time, on stderr, with the requests so far."""
    columns = (
        TextColumn("recording"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[requests]} requests"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("recording", total=seconds, requests=0)

        def show(requests: int) -> None:
            elapsed_s = bars.tasks[0].elapsed or 0.0
            bars.update(task, completed=min(elapsed_s, seconds), requests=requests)

        yield show
