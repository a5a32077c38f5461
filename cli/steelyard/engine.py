"""`steelyard engine`: a simulated inference server."""

from dataclasses import replace

import click

from steelyard.parameter import Port, PositiveFloat, PositiveInt
from steelyard.profile_name import ProfileName
from steelyard_simulator.engine.profile import profile
from steelyard_simulator.server.process import run
from steelyard_simulator.server.settings import Settings


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=Port, default=0, help="0: any free port.")
@click.option("--model", default="simulated", show_default=True, help="The name it serves.")
@click.option("--profile", "name", type=ProfileName(), default="h100-8b", show_default=True)
@click.option(
    "--speed",
    type=PositiveFloat,
    default=1.0,
    show_default=True,
    help="Engine seconds per real second.",
)
@click.option("--kv-tokens", type=PositiveInt, help="KV cache size; the profile's by default.")
@click.option("--block-tokens", type=PositiveInt, help="Tokens a KV block holds; 16 by default.")
@click.option("--max-num-seqs", type=PositiveInt)
@click.option("--max-num-batched-tokens", type=PositiveInt)
@click.option("--seed", default=0, show_default=True, help="Of the text and of the faults.")
@click.option(
    "--drain-s",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="How long running requests may take after SIGTERM.",
)
@click.option("--abrupt", is_flag=True, help="On SIGTERM, break off what runs.")
def command(
    *,
    host: str,
    port: int,
    model: str,
    name: str,
    speed: float,
    kv_tokens: int | None,
    block_tokens: int | None,
    max_num_seqs: int | None,
    max_num_batched_tokens: int | None,
    seed: int,
    drain_s: float,
    abrupt: bool,
) -> None:
    """Run a simulated inference server that speaks the OpenAI API the way vLLM does.

    Prints its URL when it listens. Faults are set at /admin/config.
    """
    base = profile(name)
    try:
        sized = replace(
            base,
            kv_tokens=kv_tokens or base.kv_tokens,
            block_tokens=block_tokens or base.block_tokens,
            max_num_seqs=max_num_seqs or base.max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens or base.max_num_batched_tokens,
        )
        settings = Settings(
            model=model,
            profile=sized,
            speed=speed,
            seed=seed,
            drain_s=drain_s,
            abrupt=abrupt,
        )
        run(settings, host=host, port=port, announce=_announce)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from None


def _announce(url: str) -> None:
    click.echo(url)
