"""Requests that wait in front of the instances, and who goes next.

Nothing waits here while an instance has room for it (room.py), so under little load the pool is not
there. What waits is put in order anew whenever something may go: deadlines come nearer, lengths are
learned. Whoever is first goes to the best of the instances with room, by the strategy of its
workload; an instance is chosen only then, so a request that waits is bound to none.

Who does not fit anywhere is passed over, by a lower class too, as long as it has not waited for
`max_wait_s`. From then on it goes before all others, whatever the order says, and what it may run
on is kept for it until it fits.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

from steelyard_router.scheduling.objective import output_tokens
from steelyard_router.scheduling.order import Job, Order, arrange
from steelyard_router.scheduling.prospect import Prospect, prefill_s
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import ROOM, Room
from steelyard_router.scheduling.scheduler import Decision, InstanceLoad, Scheduler
from steelyard_router.scheduling.strategy import Strategy

KeyT = TypeVar("KeyT", bound=Hashable)

MAX_WAIT_S: Final = 30.0
ANY: Final = RequestView()
"""The smallest request: what has no room for it has none at all."""


@dataclass(slots=True)
class Waiting(Generic[KeyT]):
    """A request in the pool."""

    key: KeyT
    request: RequestView
    strategy: Strategy
    among: frozenset[str] | None
    since_s: float
    due_s: float
    """Then it has waited for too long."""


class Pool(Generic[KeyT]):
    """Keys are the caller's names of requests, each at most once here."""

    def __init__(
        self,
        scheduler: Scheduler,
        order: Order,
        *,
        room: Room = ROOM,
        max_wait_s: float = MAX_WAIT_S,
    ) -> None:
        self._scheduler = scheduler
        self._order = order
        self._room = room
        self._max_wait_s = max_wait_s
        self._waiting: dict[KeyT, Waiting[KeyT]] = {}
        self._prospect = Prospect()
        self._asked_s = -inf

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(
        self,
        key: KeyT,
        request: RequestView,
        strategy: Strategy,
        now: float,
        *,
        among: frozenset[str] | None = None,
    ) -> Decision | None:
        """Placed at once where nobody waits and there is room; else it waits, until a release().
        Without any instance it waits too.
        """
        if not self._waiting:
            names = self._free(request, among, now)
            if names:
                return self._scheduler.choose(request, strategy, now, among=names)
        due_s = now + self._max_wait_s
        self._waiting[key] = Waiting(key, request, strategy, among, now, due_s)
        return None

    def withdraw(self, key: KeyT) -> bool:
        """Its client has gone; False if it does not wait here."""
        return self._waiting.pop(key, None) is not None

    def release(self, now: float) -> list[tuple[KeyT, Decision]]:
        """Who goes now, in that order, each placed and counted. To be called after an offer that
        has to wait, and whenever something may have become free."""
        self._asked_s = now
        gone: list[tuple[KeyT, Decision]] = []
        kept: frozenset[str] = frozenset()
        free = self._free(ANY, None, now) if self._waiting else kept
        for one in self._turns(now) if free else ():
            names = self._free(one.request, one.among, now) - kept
            if names:
                gone.append((one.key, self._start(one, names, now)))
                free = self._free(ANY, None, now) - kept
            elif now >= one.due_s:
                kept |= free if one.among is None else one.among
                free -= kept
            if not free:
                break
        if not self._waiting:
            self._prospect.rest()
        return gone

    @property
    def next_s(self) -> float | None:
        """When the next one has waited for too long; those that have are not news."""
        due = (one.due_s for one in self._waiting.values() if one.due_s > self._asked_s)
        return next(due, None)

    def _free(
        self, request: RequestView, among: frozenset[str] | None, now: float
    ) -> frozenset[str]:
        return self._scheduler.with_room(request, self._room, now, among=among)

    def _start(self, one: Waiting[KeyT], names: frozenset[str], now: float) -> Decision:
        decision = self._scheduler.choose(one.request, one.strategy, now, among=names)
        del self._waiting[one.key]
        self._prospect.start(now)
        return decision

    def _turns(self, now: float) -> Iterator[Waiting[KeyT]]:
        """All, in order; what has been late for longest comes first."""
        waiting = list(self._waiting.values())
        late = [one for one in waiting if now >= one.due_s]
        yield from late
        rest = waiting[len(late) :]
        if len(rest) < 2:
            yield from rest
            return
        loads = self._scheduler.snapshot(now)
        lane = self._prospect.lane(loads)
        jobs = [_job(number, one, loads) for number, one in enumerate(rest)]
        for job in arrange(self._order, jobs, lane, now):
            yield rest[int(job.key)]


def _job(number: int, one: Waiting[KeyT], loads: Sequence[InstanceLoad]) -> Job:
    request, slo = one.request, one.request.slo
    return Job(
        key=str(number),
        arrived_s=one.since_s,
        prefill_s=prefill_s(loads, max(1, request.prompt_tokens)),
        output_tokens=output_tokens(request),
        ttft_s=slo.ttft_s,
        tpot_s=slo.tpot_s,
        e2e_s=slo.e2e_s,
        priority=request.priority,
    )
