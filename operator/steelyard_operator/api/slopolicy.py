"""SLOPolicy: how fast, and for whom."""

import re
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
    ObjectMeta,
    Percent,
    Positive,
    Seconds,
    twice,
)
from .routing import Routing

Mode = Literal["Enforce", "DryRun"]
Metric = Literal["Score", "TTFT", "TPOT", "E2E", "Attainment"]
AttainmentPercent = Annotated[Int, Field(ge=1, le=100)]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class TargetRef(Model):
    """An LLMService in the policy's namespace."""

    group: Literal["steelyard.io"] = "steelyard.io"
    kind: Literal["LLMService"] = "LLMService"
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


class Workload(Model):
    """One class of requests."""

    name: Name
    default: StrictBool | None = None
    match: Match = Match()
    priority: Annotated[Int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
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
        if (
            self.metric == "Attainment"
            and max(self.threshold or 0, self.baseline_percent or 0) > 100
        ):
            raise ValueError(
                "Attainment is a percentage and its bound a floor: "
                "threshold or baselinePercent must be at most 100"
            )
        return self


class SLOPolicySpec(Model):
    """Which services, which classes of requests, which alerts."""

    target_refs: Annotated[tuple[TargetRef, ...], Field(min_length=1, max_length=16)]
    mode: Mode = "Enforce"
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
    """As a cluster has it. It says nothing about what is wanted."""

    @field_validator("metadata")
    @classmethod
    def _short_name(cls, metadata: ObjectMeta) -> ObjectMeta:
        if not _NAME.fullmatch(metadata.name):
            raise ValueError(
                "name becomes part of Event names: it must have at most 63 of a-z, 0-9 and '-', "
                "and neither start nor end with '-'"
            )
        return metadata
