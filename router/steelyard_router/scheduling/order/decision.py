"""The whole decision: who waits for which instance, and in which order there, in slices.

First the coarse assignment, then a search for each lane. Whoever has an event loop to keep free
calls `advance` until it is True and lets others run in between: a call looks at the clock after
every few evaluations and ends soon after `slice_s`. The searches end when all calls together have
taken `timeout_s`; the assignment and a first order of each lane are always made.

Kept true: once `ready`, `orders` has every job once, and is the best answer so far.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from steelyard_router.scheduling.order.assign import NO_PREFILLS, Assignment, Prefills, assign
from steelyard_router.scheduling.order.job import Job
from steelyard_router.scheduling.order.lane import Lane
from steelyard_router.scheduling.order.protocol import Order

Clock = Callable[[], float]
"""Seconds, on a clock of its own: what time it takes to decide, not the time that jobs know."""
LOOK_S: Final = 50e-6
"""Evaluations that take about so long are made between two looks at the clock,"""
AT_MOST: Final = 16
"""and not more than so many."""
BESIDES: Final = 8
"""What an evaluation takes besides that of its jobs, in jobs."""
LEARNED: Final = 0.2
"""Share of a new observation,"""
MOST: Final = 2.0
"""which may be so many times what was known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a decision may take."""

    timeout_s: float = 0.004
    slice_s: float = 0.0004
    depth: int = 100
    """So many of each lane are searched, the most pressing; those after them follow as they were
    assigned, and are searched when their turn comes near."""


LIMITS: Final = Limits()


class Pace:
    """How long an evaluation takes for each job in it; one for all decisions."""

    def __init__(self, seconds: float = 5e-7) -> None:
        self._seconds = seconds

    def fits(self, available_s: float, jobs: int) -> int:
        return int(max(0.0, available_s) / self._seconds / (jobs + BESIDES))

    def observe(self, evaluation_s: float, jobs: int) -> None:
        """A stall of the machine is no property of ours, so what is far off counts little."""
        seen = min(evaluation_s / (jobs + BESIDES), MOST * self._seconds)
        self._seconds += LEARNED * (seen - self._seconds)


class Decision:
    """One decision."""

    def __init__(
        self,
        jobs: Sequence[Job],
        lanes: Sequence[Lane],
        order: Order,
        *,
        now_s: float,
        clock: Clock,
        pace: Pace,
        limits: Limits = LIMITS,
        prefills: Prefills = NO_PREFILLS,
    ) -> None:
        self.orders: list[list[Job]] = []
        """By lane; empty until `ready`."""
        self._lanes, self._order, self._now_s = lanes, order, now_s
        self._clock, self._pace, self._limits = clock, pace, limits
        self._spent_s = 0.0
        self._begun_s = 0.0
        self._steps = self._decide(jobs, prefills)

    @property
    def ready(self) -> bool:
        return bool(self.orders)

    def advance(self) -> bool:
        """Decides on for one slice; True when there is nothing left to decide."""
        self._begun_s = self._clock()
        end_s = self._begun_s + self._limits.slice_s
        for _ in self._steps:
            if self._clock() >= end_s:
                self._spent_s = self._elapsed_s()
                return False
        return True

    def _elapsed_s(self) -> float:
        """In slices, this one included."""
        return self._spent_s + self._clock() - self._begun_s

    def _decide(self, jobs: Sequence[Job], prefills: Prefills) -> Iterator[None]:
        """A step for whatever is too short to be worth a look at the clock within it."""
        assignment = Assignment(self._lanes, len(jobs))
        yield from assign(
            assignment, jobs, self._lanes, self._order, now_s=self._now_s, prefills=prefills
        )
        self.orders = list(assignment.jobs)
        for number, planned in enumerate(assignment.jobs):
            left_s = self._limits.timeout_s - self._elapsed_s()
            if len(planned) > 1:
                yield from self._search(number, planned, left_s / (len(self._lanes) - number))

    def _search(self, number: int, planned: list[Job], share_s: float) -> Iterator[None]:
        """One lane, until nothing better is looked for or its share of the time is over. The search
        is begun in any case, for it lets overdue ones in when it is time.
        """
        depth = self._limits.depth
        searched, following = planned[:depth], planned[depth:]
        end_s = self._elapsed_s() + share_s
        search = self._order.begin(searched, self._lanes[number], self._now_s)
        search.allow(self._pace.fits(share_s, len(searched)))
        self.orders[number] = search.best + following
        yield
        evaluations, fastest_s = 1, inf
        while self._elapsed_s() < end_s:
            begun_s = self._clock()
            over = search.advance(evaluations)
            took_s = (self._clock() - begun_s) / evaluations
            self.orders[number] = search.best + following
            if over:
                break
            fastest_s = min(fastest_s, took_s)
            evaluations = max(1, min(AT_MOST, int(LOOK_S / max(took_s, 1e-9))))
            yield
        if fastest_s < inf:
            self._pace.observe(fastest_s, len(searched))
