"""Classes of requests: which they are, how fast they must be, and what they may take."""

from typing import Annotated, Self

from pydantic import Field, StrictBool, field_validator, model_validator

from steelyard_router.config import Name

from .base import Count, Int, Milliseconds, Model, Percent, twice
from .routing import Routing
from .waiting import Queue, Requests, Sequences

AttainmentPercent = Annotated[Int, Field(ge=1, le=100)]


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
    """One class of requests. What its queue leaves out is as in the policy's."""

    name: Name
    default: StrictBool | None = None
    match: Match = Match()
    priority: Annotated[Int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    slo: Slo = Slo()
    weights: Weights | None = None
    routing: Routing = Routing()
    max_concurrent: Requests | None = None
    max_sequences_per_instance: Sequences | None = None
    queue: Queue | None = None
