"""Classes of requests, how they are placed, what they may expect, and alerts."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard_router.config.base import Name, PositiveInt, Section
from steelyard_router.config.waiting import Batch, OwnQueue, Queue, SchedulerSettings


class Match(Section):
    """A workload takes a request when every given part matches; an empty match takes none but as
    default.
    """

    headers: dict[str, str] = Field(default_factory=dict)
    models: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Path prefixes, such as /v1/embeddings."""
    prompt_tokens_min: Annotated[int, Field(ge=0)] | None = None
    prompt_tokens_max: Annotated[int, Field(ge=0)] | None = None


class Targets(Section):
    """A workload's SLO; an absent target takes no part."""

    ttft_ms: PositiveInt | None = None
    tpot_ms: PositiveInt | None = None
    e2e_ms: PositiveInt | None = None
    attainment_percent: Annotated[int, Field(ge=1, le=100)] | None = None


class WeightPercents(Section):
    """Weights of the three targets; absent: 60 / 30 / 10."""

    ttft_percent: Annotated[int, Field(ge=0, le=100)] = 60
    tpot_percent: Annotated[int, Field(ge=0, le=100)] = 30
    e2e_percent: Annotated[int, Field(ge=0, le=100)] = 10


class Routing(Section):
    """How one workload's instance is chosen (scheduling/strategy).

    Exponents absent: with weights given, batch exponent / P-token exponent = tpot weight / ttft
    weight; without weights both are 1.
    """

    strategy: str = "Auto"
    p_token_exponent_percent: Annotated[int, Field(ge=0, le=1000)] | None = None
    batch_size_exponent_percent: Annotated[int, Field(ge=0, le=1000)] | None = None
    p_token_offset: Annotated[int, Field(ge=0)] = 0
    max_p_tokens: PositiveInt | None = None


class Workload(Section):
    """One class of requests."""

    name: Name
    default: bool = False
    match: Match = Match()
    priority: int = 0
    slo: Targets = Targets()
    weights: WeightPercents | None = None
    routing: Routing = Routing()
    max_concurrent: PositiveInt | None = None
    """Requests in flight at once; more wait in the queue (proxy/admission)."""
    max_sequences_per_instance: PositiveInt | None = None
    """Of this workload, on one instance (scheduling/room)."""
    queue: OwnQueue = OwnQueue()


class Alert(Section):
    """A rule over a windowed distribution (alerts/). Times in seconds; thresholds in the metric's
    unit: Score in tokens x requests, TTFT, TPOT and E2E in milliseconds, Attainment in percent (a
    floor), PredictionError in percent of the predicted TTFT.
    """

    name: Name
    metric: Literal["Score", "TTFT", "TPOT", "E2E", "Attainment", "PredictionError"]
    percentile: Annotated[int, Field(ge=1, le=100)] = 95
    threshold: PositiveInt | None = None
    baseline_percent: PositiveInt | None = None
    window_s: PositiveInt = 300
    for_s: Annotated[int, Field(ge=0)] = 60
    clear_percent: Annotated[int, Field(ge=1, le=100)] = 90
    min_samples: PositiveInt = 100
    repeat_s: PositiveInt = 900
    severity: Literal["Warning", "Normal"] = "Warning"
    workloads: tuple[str, ...] = ()
    """Absent: every workload, each with a state of its own."""

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.threshold is None) == (self.baseline_percent is None):
            raise ValueError("give exactly one of threshold and baseline_percent")
        return self


class Policy(Section):
    """Workloads, waiting and alerts, from the SLOPolicy."""

    workloads: tuple[Workload, ...] = (Workload(name="default", default=True),)
    queue: Queue = Queue()
    batch: Batch = Batch()
    scheduler: SchedulerSettings = SchedulerSettings()
    alerts: tuple[Alert, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [workload.name for workload in self.workloads]
        if len(set(names)) != len(names):
            raise ValueError("workload names must be unique")
        alerts = [alert.name for alert in self.alerts]
        if len(set(alerts)) != len(alerts):
            raise ValueError("alert names must be unique")
        if sum(workload.default for workload in self.workloads) != 1:
            raise ValueError("exactly one workload must have `default: true`")
        for alert in self.alerts:
            if unknown := sorted(set(alert.workloads) - set(names)):
                raise ValueError(
                    f"alert {alert.name} names unknown workloads: {', '.join(unknown)}"
                )
        return self
