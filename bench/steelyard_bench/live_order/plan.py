"""How much is measured."""

from dataclasses import dataclass
from typing import Final, Literal

from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.live_order.load import BLOCK_TOKENS

LIMITS: Final = Limits(
    block_tokens=BLOCK_TOKENS, blocks=128, step_tokens=512, sequences=4, model_tokens=2048
)
"""Of an engine: few sequences, so that what is too much waits, and memory for all of them."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Cells in front of the same engines; `scheduling` is what those are told of their order."""

    scheduling: Literal["fcfs", "priority"]
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Requests come for `span_s` in each cell, and are waited for `drain_s` longer at most."""

    phases: tuple[Phase, ...]
    engines: int = 3
    overload: float = 1.5
    repeats: int = 2
    warm_s: float = 4.0
    measured_s: float = 10.0
    span_s: float = 35.0
    drain_s: float = 60.0

    @property
    def slots(self) -> int:
        """Sequences that all engines run at once."""
        return self.engines * LIMITS.sequences


FULL: Final = Plan(
    phases=(
        Phase("fcfs", ("engine-fcfs", "pool-fcfs", "pool-deadlines", "pool-classes")),
        Phase("priority", ("engine-fcfs", "engine-classes", "both-classes")),
    )
)
QUICK: Final = Plan(
    phases=(Phase("priority", ("engine-fcfs", "both-classes")),),
    engines=1,
    repeats=1,
    warm_s=0.2,
    measured_s=1.3,
    span_s=1.0,
    drain_s=10.0,
)
"""For a simulated engine, to see that all of it runs."""
