"""SLOPolicy: how fast, and for whom."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, field_validator, model_validator

from steelyard_router.config import Name

from .base import (
    Count,
    Int,
    Label,
    Metadata,
    Milliseconds,
    Model,
    Percent,
    Positive,
    Seconds,
    twice,
)

StrategyName = Literal["Auto", "Multiplicative", "LeastRequest", "RoundRobin"]
Metric = Literal["Score", "TTFT", "TPOT", "E2E", "Attainment"]
ExponentPercent = Annotated[Int, Field(ge=0, le=1000)]
AttainmentPercent = Annotated[Int, Field(ge=1, le=100)]


class TargetRef(Model):
    """An LLMService in the policy's namespace."""

    name: Label


class HeaderMatch(Model):
    """A request header with exactly this value; names compare without case."""

    name: Annotated[str, Field(max_length=256, pattern=r"^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")]
    value: Annotated[str, Field(max_length=4096)]


class Match(Model):
    """A workload takes a request when every given part matches. `paths` are prefixes."""

    headers: Annotated[tuple[HeaderMatch, ...], Field(max_length=16)] = ()
    models: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=253)], ...], Field(max_length=16)
    ] = ()
    paths: Annotated[
        tuple[Annotated[str, Field(max_length=1024, pattern=r"^/\S*$")], ...], Field(max_length=16)
    ] = ()
    prompt_tokens_min: Count | None = None
    prompt_tokens_max: Count | None = None

    @field_validator("headers")
    @classmethod
    def _unique_headers(cls, headers: tuple[HeaderMatch, ...]) -> tuple[HeaderMatch, ...]:
        if again := twice([header.name.lower() for header in headers]):
            raise ValueError(f"header names must be unique; given twice: {', '.join(again)}")
        return headers

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.prompt_tokens_min, self.prompt_tokens_max
        if low is not None and high is not None and low > high:
            raise ValueError("promptTokensMin is above promptTokensMax: nothing could match")
        return self


class Slo(Model):
    """The targets. An absent one takes no part in any cost."""

    ttft_milliseconds: Milliseconds | None = None
    tpot_milliseconds: Milliseconds | None = None
    e2e_milliseconds: Milliseconds | None = None
    attainment_percent: AttainmentPercent | None = None


class Weights(Model):
    """What a missed share of each target costs; absent 60 / 30 / 10. There is no sum rule."""

    ttft_percent: Percent | None = None
    tpot_percent: Percent | None = None
    e2e_percent: Percent | None = None


class Routing(Model):
    """How an instance is chosen. Exponents absent: their ratio follows the tpot / ttft weight."""

    strategy: StrategyName | None = None
    p_token_exponent_percent: ExponentPercent | None = None
    batch_size_exponent_percent: ExponentPercent | None = None
    p_token_offset: Count | None = None
    max_p_tokens: Positive | None = None


class Workload(Model):
    """One class of requests."""

    name: Name
    default: StrictBool | None = None
    match: Match = Match()
    priority: Annotated[Int, Field(ge=-(2**31), lt=2**31)] | None = None
    slo: Slo = Slo()
    weights: Weights | None = None
    routing: Routing = Routing()


class Alert(Model):
    """A rule over a windowed distribution.

    `threshold` is in tokens x requests (Score), milliseconds (TTFT, TPOT, E2E) or percent
    (Attainment, where it is a floor).
    """

    name: Name
    metric: Metric
    percentile: Annotated[Int, Field(ge=1, le=100)] | None = None
    threshold: Positive | None = None
    baseline_percent: Annotated[Int, Field(ge=1, le=100_000)] | None = None
    window_seconds: Seconds | None = None
    for_seconds: Annotated[Int, Field(ge=0, le=86_400)] | None = None
    clear_percent: Annotated[Int, Field(ge=1, le=100)] | None = None
    min_samples: Positive | None = None
    repeat_seconds: Annotated[Int, Field(ge=300, le=3300)] | None = None
    severity: Literal["Warning", "Normal"] | None = None
    workloads: Annotated[tuple[Name, ...], Field(max_length=16)] = ()

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.threshold is None) == (self.baseline_percent is None):
            raise ValueError("give exactly one of threshold and baselinePercent")
        return self


class SLOPolicySpec(Model):
    """Which services, which classes of requests, which alerts."""

    target_refs: Annotated[tuple[TargetRef, ...], Field(min_length=1, max_length=16)]
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=16)]
    alerts: Annotated[tuple[Alert, ...], Field(max_length=16)] = ()

    @field_validator("target_refs")
    @classmethod
    def _unique_targets(cls, refs: tuple[TargetRef, ...]) -> tuple[TargetRef, ...]:
        if again := twice([ref.name for ref in refs]):
            raise ValueError(f"names must be unique; given twice: {', '.join(again)}")
        return refs

    @field_validator("workloads")
    @classmethod
    def _one_default(cls, workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
        if again := twice([workload.name for workload in workloads]):
            raise ValueError(f"names must be unique; given twice: {', '.join(again)}")
        if sum(bool(workload.default) for workload in workloads) != 1:
            raise ValueError("exactly one workload must have `default: true`")
        return workloads

    @field_validator("alerts")
    @classmethod
    def _unique_alerts(cls, alerts: tuple[Alert, ...]) -> tuple[Alert, ...]:
        if again := twice([alert.name for alert in alerts]):
            raise ValueError(f"names must be unique; given twice: {', '.join(again)}")
        return alerts

    @model_validator(mode="after")
    def _known_workloads(self) -> Self:
        names = {workload.name for workload in self.workloads}
        for alert in self.alerts:
            if unknown := sorted(set(alert.workloads) - names):
                raise ValueError(
                    f"alert {alert.name} names unknown workloads: {', '.join(unknown)}; "
                    f"there are: {', '.join(sorted(names))}"
                )
        return self


class SLOPolicy(Model):
    """Targets, weights, routing and alerts for the services that it names."""

    api_version: Literal["steelyard.io/v1alpha1"]
    kind: Literal["SLOPolicy"]
    metadata: Metadata
    spec: SLOPolicySpec
    status: Any = None
    """Accepted and not read."""
