"""`steelyard router`: runs one router process from a configuration file or folder."""

import asyncio
import logging
import os
import random
from pathlib import Path

import click
import uvloop

from steelyard_router import process
from steelyard_router.app import Router
from steelyard_router.config import RouterConfig
from steelyard_router.discovery.file import load_config
from steelyard_router.errors import ConfigError
from steelyard_router.observability.recorder import Recorder

RECORD = "STEELYARD_RECORD"
"""1: /debug/record answers whatever the configuration says."""
RECORD_SALT = "STEELYARD_RECORD_SALT"
"""A secret that replicas share, so that one recording of them all has equal hashes."""
LEAST_SALT = 16


@click.command()
@click.option(
    "--config",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="YAML or JSON configuration file, or a folder of *.yaml files with one or more sections"
    " each; edits are taken over while the router runs.",
)
@click.option("--check", is_flag=True, help="Only say whether the file is valid, and its revision.")
@click.option(
    "--log-level",
    default="info",
    show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Least severity to log to stderr.",
)
def command(path: Path, *, check: bool, log_level: str) -> None:
    """Run the router."""
    logging.basicConfig(
        level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        config = load_config(path)
        if check:
            click.echo(f"{path}: valid, revision {config.revision}")
            return
        uvloop.run(_run(config, path))
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot serve: {error.strerror or error}") from error


async def _run(config: RouterConfig, path: Path) -> None:
    loop = asyncio.get_running_loop()
    router = Router(
        config,
        time=loop.time,
        rng=random.Random(),
        replica=os.environ.get("POD_NAME"),
        address=os.environ.get("POD_IP"),
        recorder=_recorder(),
    )
    await process.run(router, path)


def _recorder() -> Recorder:
    salt = os.environ.get(RECORD_SALT)
    if salt is not None and len(salt) < LEAST_SALT:
        raise ConfigError(f"{RECORD_SALT} must have at least {LEAST_SALT} characters, at random")
    return Recorder(
        salt=None if salt is None else salt.encode(), always=os.environ.get(RECORD) == "1"
    )
