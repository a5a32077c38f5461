"""Who waits in front of the instances, for how long, and who of them goes first.

As with routing, a name that the router would not know is refused here: `OrderName` lists the orders
of scheduling/order, and a test holds the two together.
"""

from typing import Annotated, Literal

from pydantic import Field

from .base import Int, Milliseconds, Model, Seconds

Sequences = Annotated[Int, Field(ge=1, le=65_536)]
"""On one instance; more than any engine runs at once."""
Requests = Annotated[Int, Field(ge=1, le=1_000_000)]
"""In flight through one router."""

OrderName = Literal[
    "Auto",
    "UrgentFirst",
    "Deadline",
    "LeastLaxity",
    "ShortestPredicted",
    "FCFS",
    "ProgramAware",
    "SimulatedAnnealing",
]


class Queue(Model):
    """How long a request may wait, and what becomes of it then."""

    max_wait_seconds: Seconds | None = None
    on_timeout: Literal["Promote", "Degrade", "Reject"] | None = None


class Batch(Model):
    """When an instance has room for one more. A workload may be bounded beside this."""

    max_sequences: Sequences | None = None
    kv_percent: Annotated[Int, Field(ge=1, le=100)] | None = None
    harm_percent: Annotated[Int, Field(ge=1, le=1_000_000)] | None = None
    queued_prefill_milliseconds: Milliseconds | None = None


class Annealing(Model):
    """The search of order SimulatedAnnealing; other orders take no notice of it."""

    iterations: Annotated[Int, Field(ge=1, le=10_000)] | None = None
    cooling_percent: Annotated[Int, Field(ge=50, le=99)] | None = None
    acceptance_percent: Annotated[Int, Field(ge=1, le=99)] | None = None


class Scheduler(Model):
    """Who of those that wait goes first. `timeout_milliseconds` bounds the search as well."""

    mode: Literal["Enforce", "DryRun", "Disabled"] | None = None
    order: OrderName | None = None
    timeout_milliseconds: Annotated[Int, Field(ge=1, le=1000)] | None = None
    annealing: Annealing | None = None
    engine_priority: Literal["None", "Header"] | None = None
