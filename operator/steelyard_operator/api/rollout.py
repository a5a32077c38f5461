"""How engine pods are replaced, and how many may be missing meanwhile."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Int, Model, Seconds

Pods = Annotated[Int, Field(ge=0, le=1000)]


class Rollout(Model):
    """How engines are replaced when their template changes. Counts of pods; absent 0 and 1."""

    max_surge: Pods | None = None
    max_unavailable: Pods | None = None
    progress_deadline_seconds: Seconds | None = None

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.max_unavailable == 0 and not self.max_surge:
            raise ValueError(
                "maxUnavailable 0 needs maxSurge of at least 1, or no pod could be replaced"
            )
        return self


class Disruption(Model):
    """How many engines a node drain may take down at once."""

    min_available: Pods | None = None
    max_unavailable: Pods | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.min_available is None) == (self.max_unavailable is None):
            raise ValueError("give exactly one of minAvailable and maxUnavailable")
        return self
