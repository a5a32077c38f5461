"""What an order is, and what looking for one is.

A search says at any time what the best order so far is, and looks on for as many evaluations as it
is given, so that whoever has other things to do can stop between two of them.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.overdue import Patience
from steelyard_router.scheduling.order.turn import Key

AT_ONCE: Final = 1000
"""Evaluations between two looks at whether it is over, where nobody waits."""


class Search(Protocol):
    """One order being looked for."""

    best: list[Job]
    """All the jobs, once each; an answer from the beginning."""

    def allow(self, evaluations: int) -> None:
        """There is time for about so many in all."""
        ...

    def advance(self, evaluations: int) -> bool:
        """Looks on for at most so many evaluations; True when there is nothing more to look for."""
        ...


class Order(Protocol):
    """A rule for who goes first. Higher classes always go before lower ones, and `patience` lets in
    who is overdue.
    """

    name: ClassVar[str]
    instant: ClassVar[bool]
    """Whether it is found in one go: nothing is searched for."""
    patience: Patience

    @property
    def key(self) -> Key:
        """The rule, or what comes near it, as a number for each job."""
        ...

    def begin(self, jobs: Sequence[Job], lane: Lane, now_s: float) -> Search: ...


class Found:
    """A search that was over at once."""

    def __init__(self, best: list[Job]) -> None:
        self.best = best

    def allow(self, evaluations: int) -> None:
        pass

    def advance(self, evaluations: int) -> bool:
        del evaluations
        return True


def arrange(order: Order, jobs: Sequence[Job], lane: Lane, now_s: float) -> list[Job]:
    """The order in one go."""
    search = order.begin(jobs, lane, now_s)
    while not search.advance(AT_ONCE):
        pass
    return search.best
