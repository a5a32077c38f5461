"""A request that waits in front of the instances: what it asks for, and how long it may wait."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from steelyard_router.scheduling.order import Job
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import Room
from steelyard_router.scheduling.strategy import Strategy
from steelyard_router.scheduling.trial import Trial

if TYPE_CHECKING:
    from steelyard_router.scheduling.scheduler import Decision, Scheduler

KeyT = TypeVar("KeyT", bound=Hashable)

MAX_WAIT_S: Final = 30.0
LONGEST: Final = 2.0
"""Times `max_wait_s` that anyone waits at all."""


class OnTimeout(StrEnum):
    """What becomes of a request that has waited too long: it goes before all who are in no hurry,
    behind all others, or is refused.
    """

    PROMOTE = "Promote"
    DEGRADE = "Degrade"
    REJECT = "Reject"


@dataclass(frozen=True, slots=True)
class WaitLimit:
    """How long a request may wait, and what then. Nobody waits for longer than twice as long."""

    max_wait_s: float = MAX_WAIT_S
    on_timeout: OnTimeout = OnTimeout.PROMOTE

    @property
    def longest_s(self) -> float:
        times = 1.0 if self.on_timeout is OnTimeout.REJECT else LONGEST
        return times * self.max_wait_s


WAIT_LIMIT: Final = WaitLimit()
NO_LIMIT: Final = WaitLimit(inf)


@dataclass(slots=True)
class Ask:
    """What a placement is asked for with (Scheduler.choose)."""

    request: RequestView
    strategy: Strategy
    among: frozenset[str] | None = None
    exclude: Collection[str] = ()
    max_p_tokens: int | None = None
    explain: bool = False
    trial: Trial | None = None

    def place(
        self,
        scheduler: "Scheduler",
        now: float,
        *,
        room: Room | None = None,
        kept: frozenset[str] = frozenset(),
    ) -> "Decision":
        """By that scheduler, now, and not on what is kept for others. Raises as choose() does."""
        return scheduler.choose(
            self.request,
            self.strategy,
            now,
            among=self.among,
            exclude=kept.union(self.exclude) if kept else self.exclude,
            room=room,
            max_p_tokens=self.max_p_tokens,
            explain=self.explain,
            trial=self.trial,
        )


@dataclass(slots=True, eq=False)
class Waiting(Generic[KeyT]):
    """One that waits."""

    key: KeyT
    ask: Ask
    job: Job
    limit: WaitLimit
    kept: str | None = None
    """The instance that is kept for it;"""
    yields: bool = False
    """It would have gone, had it not been too dear (price.py);"""
    gone: bool = False
    """it waits no more."""
