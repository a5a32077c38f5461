"""Who waits in front of the instances, for how long, and who of them goes first."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from steelyard_router.config.base import PositiveInt, Section
from steelyard_router.scheduling.waiting import OnTimeout


class Queue(Section):
    """How long a request may wait for an instance with room, and what then (scheduling/waiting)."""

    max_wait_s: PositiveInt | None = None
    """Absent: as long as in the process's own queue, limits.queue_wait_s."""
    on_timeout: OnTimeout = OnTimeout.PROMOTE


class OwnQueue(Section):
    """A workload's own; what it leaves out is as in the policy's (ordering.wait_limits_of)."""

    max_wait_s: PositiveInt | None = None
    on_timeout: OnTimeout | None = None


class Batch(Section):
    """When an instance has room for one more (scheduling/room)."""

    max_sequences: PositiveInt | None = None
    """Of all workloads, on one instance, beside what its engine was seen to run at once."""
    kv_percent: Annotated[int, Field(ge=1, le=100)] = 80
    """Of its KV memory, with what replies are expected to grow by."""
    harm_percent: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """What others may lose by one more, of what that one has to gain (scheduling/price)."""
    queued_prefill_ms: PositiveInt | None = None
    """Predicted time of the prompts that are not computed yet; absent: no bound."""


class Annealing(Section):
    """The search of order SimulatedAnnealing (scheduling/order/temperature)."""

    iterations: Annotated[int, Field(ge=1, le=10_000)] = 100
    cooling_percent: Annotated[int, Field(ge=50, le=99)] = 95
    acceptance_percent: Annotated[int, Field(ge=1, le=99)] = 80
    """Share of sampled changes for the worse that the first temperature takes."""


class SchedulerMode(StrEnum):
    """Whether requests wait in front of the instances (proxy/line): they do; it is only counted who
    would; nobody does.
    """

    ENFORCE = "Enforce"
    DRY_RUN = "DryRun"
    DISABLED = "Disabled"


class EnginePriority(StrEnum):
    """Whether engines that schedule by priority are told one (proxy/rank)."""

    NONE = "None"
    HEADER = "Header"


class SchedulerSettings(Section):
    """Who of those that wait goes first (scheduling/order)."""

    mode: SchedulerMode = SchedulerMode.ENFORCE
    order: str = "Auto"
    timeout_ms: Annotated[int, Field(ge=1, le=1000)] = 4
    """Computing time of one ordering; it is done in slices of under a millisecond."""
    annealing: Annealing = Annealing()
    engine_priority: EnginePriority = EnginePriority.NONE
