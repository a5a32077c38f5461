"""Rules over windowed distributions."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard_router.config import Name

from .base import Int, Model, Positive, Seconds

Metric = Literal["Score", "TTFT", "TPOT", "E2E", "Attainment", "PredictionError"]


class Alert(Model):
    """A rule over a windowed distribution.

    `threshold` is in tokens x requests (Score), milliseconds (TTFT, TPOT, E2E) or percent
    (Attainment, where it is a floor, and PredictionError, where it may be above 100).
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
