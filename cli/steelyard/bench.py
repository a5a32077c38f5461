"""`steelyard bench`: what the product costs. Each measurement is imported when it is asked for."""

import click

from steelyard.lazy_group import LazyGroup

BENCHES = {
    "decision": ("steelyard.bench_decision", "What a routing decision costs."),
    "evaluation": ("steelyard.bench_evaluation", "Every policy on every trace, simulated."),
    "ordering": ("steelyard.bench_ordering", "What ordering requests costs, and what it is worth."),
    "predictor": ("steelyard.bench_predictor", "How good latency predictions are, and their cost."),
    "live-order": ("steelyard.bench_live_order", "What ordering is worth on real engines."),
    "fidelity": ("steelyard.bench_fidelity", "The simulation beside real engines."),
    "wire": ("steelyard.bench_wire", "What the router costs on the wire, beside its peers."),
}


class Benches(LazyGroup):
    """One for each measurement."""

    modules = BENCHES
    heading = "Measurements"


@click.group(cls=Benches)
def command() -> None:
    """Measure the product itself."""
