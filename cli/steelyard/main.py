"""The `steelyard` command group.

Each subcommand is a file of its own and is imported only when it is called.
"""

import click

from steelyard.lazy_group import LazyGroup

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


class Commands(LazyGroup):
    """All there are."""

    modules = COMMANDS
    heading = "Commands"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="steelyard")
def main() -> None:
    """Serve LLMs within their SLOs: a Kubernetes operator and router for inference servers."""
