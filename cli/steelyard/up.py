"""`steelyard up`: runs manifests on this machine."""

import asyncio
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from steelyard.dashboard import LiveScreen, PlainScreen
from steelyard.parameter import FolderPath, Port, manifests_argument
from steelyard_operator.errors import OperatorError
from steelyard_operator.local.command import find_vllm
from steelyard_operator.local.session import Session
from steelyard_operator.local.settings import Settings

STEELYARD = (
    sys.executable, "-P", "-c", "from steelyard.main import main; main(prog_name='steelyard')",
)  # fmt: skip
"""This very product, in this very environment, whatever PATH says."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Seconds = click.FloatRange(min=0)


@click.command(name="up")
@manifests_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Where the router listens.")
@click.option("--port", type=Port, default=8080, show_default=True, help="Its port; 0: any.")
@click.option(
    "--admin-port",
    type=Port,
    default=9090,
    show_default=True,
    help="For /status and /metrics, on 127.0.0.1; 0: any.",
)
@click.option(
    "--run-dir",
    type=FolderPath,
    help="Keep configurations and logs here; without it they are removed at the end.",
)
@click.option(
    "--vllm-bin",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="The vllm command for engine type VLLM; without it the one on PATH.",
)
@click.option("--no-table", is_flag=True, help="Lines only, as where the output is no terminal.")
@click.option("--for", "seconds", type=Seconds, help="Stop by itself after so many seconds.")
@click.option(
    "--drain", type=Seconds, default=120.0, show_default=True,
    help="Seconds that an engine which leaves has to finish its requests.",
)  # fmt: skip
@click.option(
    "--grace", type=Seconds, default=10.0, show_default=True,
    help="Seconds that requests have to finish when everything ends.",
)  # fmt: skip
@click.option(
    "--debug-decisions", type=click.IntRange(0, 100_000), default=0, metavar="N",
    help="Keep the last N decisions for `steelyard explain`.",
)  # fmt: skip
def command(
    *,
    manifests: Sequence[Path],
    host: str,
    port: int,
    admin_port: int,
    run_dir: Path | None,
    vllm_bin: str | None,
    no_table: bool,
    seconds: float | None,
    drain: float,
    grace: float,
    debug_decisions: int,
) -> None:
    """Run LLMService and SLOPolicy manifests on this machine, without Kubernetes.

    Follows edits of the files while it runs: replicas start and drain, policies change without any
    restart. Ctrl-C ends everything that it started; a second one does not wait.
    """
    console = Console()
    with _folder(run_dir) as folder:
        settings = Settings(
            run_dir=folder,
            steelyard=STEELYARD,
            vllm=find_vllm(vllm_bin),
            host=host,
            port=port,
            admin_port=admin_port,
            decisions=debug_decisions,
            drain_s=drain,
            stop_s=grace,
        )
        plain = no_table or not console.is_terminal
        try:
            with PlainScreen() if plain else LiveScreen(console) as screen:
                asyncio.run(_run(Session(manifests, settings, screen), seconds))
        except OperatorError as error:
            raise click.ClickException(str(error)) from error


async def _run(session: Session, seconds: float | None) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
            loop.add_signal_handler(number, session.interrupt)
    if seconds is not None:
        loop.call_later(seconds, session.stop)
    await session.run()


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        yield Path(folder)
