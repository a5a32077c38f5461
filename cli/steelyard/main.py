"""The `steelyard` command group.

Each subcommand is a file of its own and is imported only when it is called, so that `steelyard
router` does not pay memory and start-up time for plots and progress bars.
"""

import importlib
from typing import Any

import click

COMMANDS = {
    "bench": ("steelyard.bench", "Measure the product itself."),
    "demo": ("steelyard.demo", "Play a real trace through four simulated engines, twice."),
    "engine": ("steelyard.engine", "Run a simulated inference server."),
    "explain": ("steelyard.explain", "Say why the router's last decisions fell as they did."),
    "load": ("steelyard.load", "Replay a trace against an OpenAI-compatible URL."),
    "operator": ("steelyard.operator", "Run the Kubernetes operator."),
    "record": ("steelyard.record", "Record a router's traffic as a trace, without its text."),
    "render": ("steelyard.render", "Print what `up` would run."),
    "router": ("steelyard.router", "Run the router."),
    "simulate": ("steelyard.simulate", "Compare routing policies on a trace, in virtual time."),
    "up": ("steelyard.up", "Run manifests on this machine, without Kubernetes."),
}


class LazyGroup(click.Group):
    """Knows its commands by name; imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: Any = importlib.import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="steelyard")
def main() -> None:
    """Serve LLMs within their SLOs: a Kubernetes operator and router for inference servers."""
