"""LLMService: what to serve."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from .base import Drain, Int, Metadata, Model, ObjectMeta
from .cache import Cache
from .engine import Engine
from .rollout import Disruption, Rollout
from .router import Router
from .source import ModelSource

NetworkPolicy = Literal["Disabled", "Enabled"]
Reconciliation = Literal["Active", "Paused"]

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")


class LLMServiceSpec(Model):
    """Replicas absent: one at run time."""

    model: ModelSource = ModelSource()
    engine: Engine
    replicas: Annotated[Int, Field(ge=0, le=1000)] | None = None
    rollout: Rollout | None = None
    restart_token: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    disruption: Disruption | None = None
    cache: Cache | None = None
    router: Router = Router()
    network_policy: NetworkPolicy | None = None
    reconciliation: Reconciliation | None = None

    @model_validator(mode="after")
    def _external(self) -> Self:
        ours = (
            *(self.model.uri, self.replicas, self.rollout, self.restart_token),
            *(self.disruption, self.cache),
        )
        if self.engine.type == "External" and any(part is not None for part in ours):
            raise ValueError(
                "model.uri, replicas, rollout, restartToken, disruption and cache have no effect "
                "on engines that someone else runs; leave them out"
            )
        return self

    @model_validator(mode="after")
    def _weights(self) -> Self:
        if self.engine.type in {"VLLM", "SGLang"} and self.model.uri is None:
            raise ValueError(
                "engine types VLLM and SGLang need model.uri, for example hf://org/model"
            )
        return self

    @model_validator(mode="after")
    def _patience(self) -> Self:
        startup = self.engine.startup_timeout_seconds
        deadline = None if self.rollout is None else self.rollout.progress_deadline_seconds
        if startup is not None and deadline is not None and deadline < startup:
            raise ValueError(
                "rollout.progressDeadlineSeconds must be at least engine.startupTimeoutSeconds, "
                "or a slow start counts as a failed rollout"
            )
        ours, theirs = _grace(self.router.drain), _grace(self.engine.drain)
        if ours is not None and theirs is not None and ours < theirs:
            raise ValueError(
                "router.drain.gracePeriodSeconds must be at least that of engine.drain, "
                "or the router breaks streams that the engine would finish"
            )
        return self


def _grace(drain: Drain | None) -> int | None:
    return None if drain is None else drain.grace_period_seconds


class LLMService(Model):
    """One served model: engines and the router in front of them."""

    api_version: Literal["steelyard.io/v1alpha1"]
    kind: Literal["LLMService"]
    metadata: Metadata
    spec: LLMServiceSpec
    status: Any = None
    """As a cluster has it. It says nothing about what is wanted."""

    @field_validator("metadata")
    @classmethod
    def _short_name(cls, metadata: ObjectMeta) -> ObjectMeta:
        if not _NAME.fullmatch(metadata.name):
            raise ValueError(
                "name becomes part of Service and label names: it must start with a letter and "
                "have at most 40 of a-z, 0-9 and '-'"
            )
        return metadata

    @property
    def served_name(self) -> str:
        """The model name that clients ask for."""
        return self.spec.model.name or self.metadata.name
