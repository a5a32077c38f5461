"""What may be changed while the server runs: its speed, and the ways in which it misbehaves.

GET /admin/config shows the state, POST changes the fields it is given and leaves the others.
"""

from enum import StrEnum
from random import Random
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard_simulator.server.error import BadRequest

Share = Annotated[float, Field(ge=0, le=1)]


class AbortKind(StrEnum):
    """How an answer breaks off half-way."""

    CONNECTION = "connection"
    """The connection is reset."""
    ERROR_EVENT = "error_event"
    """An error event and [DONE] under HTTP 200; a plain answer is a 500."""
    FINISH_REASON = "finish_reason"
    """A cut answer whose finish_reason is "abort"."""


class Faults(BaseModel):
    """The state. Everything is off by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    error_rate: Share = 0.0
    """Share of requests that get a 500 before the first byte."""
    latency_factor: Annotated[float, Field(gt=0)] = 1.0
    """Every step takes so many times longer."""
    hang: bool = False
    """Nothing moves: new requests are accepted and not answered, streams stall, /health stays
    200."""
    abort_rate: Share = 0.0
    """Share of answers that break off half-way, in the way of `abort_kind`."""
    abort_kind: AbortKind = AbortKind.CONNECTION
    refuse: bool = False
    """Connections are closed without an answer, but for /admin/config."""
    slow_head_s: Annotated[float, Field(ge=0)] = 0.0
    """Engine seconds from the request to the head of its answer; the work waits as well."""
    max_waiting: Annotated[int, Field(ge=0)] | None = None
    """More waiting requests than that are answered 503; without it the queue has no end."""
    speed: Annotated[float, Field(gt=0, le=100_000)] = 1.0
    seed: int = 0
    """Of the dice that the rates are rolled with; giving it starts them afresh."""

    @property
    def clock_speed(self) -> float:
        """Engine seconds per real second."""
        return 0.0 if self.hang else self.speed / self.latency_factor

    def changed(self, change: dict[str, Any]) -> Self:
        """A new state with these fields replaced; BadRequest names every field that is wrong."""
        try:
            return self.model_validate({**self.model_dump(), **change})
        except ValidationError as error:
            raise BadRequest(describe(error), param=first_field(error)) from None


class Dice:
    """Decides which requests meet with a fault; the same seed, the same ones."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)

    def hit(self, rate: float) -> bool:
        return rate > 0 and self._rng.random() < rate

    def cut(self, tokens: int) -> int:
        """After how many of `tokens` an answer breaks off: at least 1, and before the end if it
        can."""
        return self._rng.randint(1, max(1, tokens - 1))


def describe(error: ValidationError) -> str:
    """One line for each thing that is wrong: where, and what was expected."""
    return "; ".join(
        f"{'.'.join(str(key) for key in one['loc']) or 'body'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)
    )


def first_field(error: ValidationError) -> str | None:
    where = error.errors(include_url=False, include_input=False)[0]["loc"]
    return str(where[0]) if where else None
