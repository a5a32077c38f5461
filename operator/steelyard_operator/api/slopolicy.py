"""SLOPolicy: how fast, and for whom."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from .alert import Alert
from .base import Label, Metadata, Model, ObjectMeta, twice
from .waiting import Batch, Queue, Scheduler
from .workload import Workload

Mode = Literal["Enforce", "DryRun"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class TargetRef(Model):
    """An LLMService in the policy's namespace."""

    group: Literal["steelyard.io"] = "steelyard.io"
    kind: Literal["LLMService"] = "LLMService"
    name: Label


class SLOPolicySpec(Model):
    """Which services, which classes of requests, who waits for what, which alerts."""

    target_refs: Annotated[tuple[TargetRef, ...], Field(min_length=1, max_length=16)]
    mode: Mode = "Enforce"
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=16)]
    queue: Queue | None = None
    batch: Batch | None = None
    scheduler: Scheduler | None = None
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

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        most = self.batch and self.batch.max_sequences
        if most and any((one.max_sequences_per_instance or 0) > most for one in self.workloads):
            raise ValueError(
                "maxSequencesPerInstance of a workload is above batch.maxSequences, so it could "
                "never be reached"
            )
        return self


class SLOPolicy(Model):
    """Targets, weights, routing, waiting and alerts for the services that it names."""

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
