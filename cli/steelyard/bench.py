"""`steelyard bench`: what the product costs. Each measurement is imported when it is asked for."""

import importlib

import click

BENCHES = {
    "decision": ("steelyard.bench_decision", "What a routing decision costs."),
    "evaluation": ("steelyard.bench_evaluation", "Every policy on every trace, simulated."),
    "ordering": ("steelyard.bench_ordering", "What ordering requests costs, and what it is worth."),
    "fidelity": ("steelyard.bench_fidelity", "The simulation beside real engines."),
    "wire": ("steelyard.bench_wire", "What the router costs on the wire, beside its peers."),
}


class Benches(click.Group):
    """Knows the measurements by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(BENCHES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in BENCHES:
            return None
        found: object = importlib.import_module(BENCHES[cmd_name][0]).command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Measurements"):
            formatter.write_dl([(name, text) for name, (_, text) in BENCHES.items()])


@click.group(cls=Benches)
def command() -> None:
    """Measure the product itself."""
