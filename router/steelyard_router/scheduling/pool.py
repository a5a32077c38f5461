"""Requests that wait in front of the instances, and who goes next.

Nothing waits here while an instance has room for it (room.py) and nobody loses more by it than it
has to gain (price.py), so under little load the pool is not there. Whoever is first goes to the
best of the instances with room, by the strategy of its workload; an instance is chosen only then,
so a request that waits is bound to none.

Who is first says the order. Few are put in order anew whenever something may go: deadlines come
nearer, lengths are learned. Many are ordered in slices (`ordering`), by whoever has an event loop
to keep free; until that is done (`adopt`), they go as they were ordered before, newcomers behind.

Who does not fit anywhere, or is too dear, is passed over, by a lower class too, as long as it has
not waited for its `max_wait_s`. What becomes of it then says its limit. Those that are promoted
keep their places in the order, and 1 / EVERY of the work that is begun is for the one that waits
longest, wherever it stands, if it can still make it: were they before all, a lasting overload would
be served in order of arrival, and everybody would be late. Its turn comes at any price; where it
fits nowhere, one instance is kept for it until it does.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Final, Generic

from steelyard_router.scheduling.attained import Attained
from steelyard_router.scheduling.objective import output_tokens
from steelyard_router.scheduling.order import Decision as Ordering
from steelyard_router.scheduling.order import Job, Limits, Order, Pace, arrange
from steelyard_router.scheduling.order.decision import Clock
from steelyard_router.scheduling.order.moment import Moment
from steelyard_router.scheduling.precedent import Precedents
from steelyard_router.scheduling.predictor import attended
from steelyard_router.scheduling.prospect import Prospect
from steelyard_router.scheduling.refusal import NoRoom, PlacementError, TooDear
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import ROOM, Room
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.tenancy import in_turn
from steelyard_router.scheduling.waiting import Ask, KeyT, Waiting, WaitLimit
from steelyard_router.scheduling.waitlist import WaitList

ANY: Final = RequestView(workload="")
"""The smallest request, of no workload: what has no room for it has none at all."""
AT_ONCE: Final = 48
"""So many are put in order in one go: a third of a millisecond."""
EVERY: Final = 8
"""One of so many parts of the work is for requests that were promoted, if one waits."""
PASSED_OVER: Final = 64
"""Waiting ones that fit nowhere are looked at in one release: each costs a decision."""
GONE_THROUGH: Final = 256
"""Waiting ones are gone through in one release, half a millisecond where others decide for all of
them; who is behind those gets nearer with the next order.
"""


@dataclass(slots=True)
class Orders(Generic[KeyT]):
    """An order that is being made, and of whom."""

    ordering: Ordering
    waiting: dict[str, Waiting[KeyT]]
    """By the keys of their jobs."""


class Pool(Generic[KeyT]):
    """Keys are the caller's names of requests, each at most once here."""

    def __init__(
        self, scheduler: Scheduler, order: Order, *, room: Room = ROOM, at_once: int = AT_ONCE
    ) -> None:
        self._scheduler = scheduler
        self.update(order, room, at_once)
        self._list: WaitList[KeyT] = WaitList()
        self._number = 0
        self._prospect = Prospect(scheduler)
        self._attained = Attained()
        self._since_overdue_s = 0.0
        """Work begun since one that was overdue went,"""
        self._since_promoted_s = 0.0
        """and one that was promoted,"""
        self._since_any_price_s = 0.0
        """and one that went at any price."""
        self._yielding = 0
        self._releases = 0

    def __len__(self) -> int:
        return len(self._list)

    @property
    def yielding(self) -> int:
        """How many of those who wait would have gone at the last release, had they not been too
        dear.
        """
        return min(self._yielding, len(self._list))

    def update(self, order: Order, room: Room, at_once: int = AT_ONCE) -> None:
        """From now on, for those who wait as well."""
        self._order, self._at_once = order, at_once
        self._room, self._at_any_price = room, replace(room, dear=inf)

    def relimit(self, limits: Mapping[str, WaitLimit]) -> None:
        """Likewise, by workload; those of others keep the limits that they came with."""
        for one in self._list:
            self._list.limit(one, limits.get(one.ask.request.workload, one.limit))

    def offer(self, key: KeyT, ask: Ask, limit: WaitLimit, now: float) -> Decision | None:
        """Placed at once where nobody waits and there is room; else it waits, until a release().
        Without any instance it waits too.
        """
        if not self._list and isinstance(
            found := self._place(ask, now, frozenset(), self._room), Decision
        ):
            return found
        self._number += 1
        self._list.add(Waiting(key, ask, self._job(ask.request, now), limit))
        return None

    def withdraw(self, key: KeyT) -> bool:
        """Its client has gone; False if it does not wait here."""
        one = self._list.find(key)
        if one is not None:
            self._list.leave(one)
        return one is not None

    def asks(self) -> Iterator[tuple[KeyT, Ask]]:
        """All who wait."""
        for one in self._list:
            yield one.key, one.ask

    def give_up(self, now: float) -> list[KeyT]:
        """Those who have waited for as long as anyone may; they wait here no more."""
        self._list.age(now)
        return self._list.given_up()

    def release(self, now: float) -> list[tuple[KeyT, Decision]]:
        """Who goes now, in that order, each placed and counted. To be called after an offer that
        has to wait, and whenever something may have become free."""
        self._list.age(now)
        gone: list[tuple[KeyT, Decision]] = []
        kept: frozenset[str] = frozenset()
        passed = self._yielding = 0
        precedents = Precedents(self._releases)
        self._releases += 1
        free = self._free(kept, now) if self._list else kept
        for one, due in islice(self._in_turn(now), GONE_THROUGH) if free else ():
            ask, at_any_price = one.ask, due or one.kept is not None
            if ask.among is not None and ask.among.isdisjoint(free):
                continue
            if not at_any_price and precedents.decide(ask):
                self._yield(one)
                continue
            room = self._at_any_price if at_any_price else self._room
            found = self._place(ask, now, kept, room)
            if isinstance(found, Decision):
                gone.append((one.key, found))
                self._start(one, now, at_any_price=at_any_price)
                free = self._free(kept, now)
            elif isinstance(found, TooDear):
                self._yield(one)
                precedents.add(ask)
            else:
                passed += 1
                if isinstance(found, NoRoom) and self._list.is_promoted(one):
                    kept |= self._keep(one, kept)
                    free -= kept
            if not free or passed > PASSED_OVER:
                break
        if not self._list:
            self._prospect.rest()
        return gone

    @property
    def next_s(self) -> float | None:
        """When the next one will have waited for too long."""
        return self._list.next_s

    @property
    def unordered(self) -> bool:
        """Whether there are too many to be put in order in one go."""
        return len(self._list) > self._at_once

    def ordering(self, now: float, *, clock: Clock, pace: Pace, limits: Limits) -> Orders[KeyT]:
        """An order of those who wait now, yet to be made."""
        self._prospect.look(now)
        waiting = {one.job.key: one for one in self._list.in_order}
        jobs = [one.job for one in waiting.values()]
        lanes = [self._prospect.lane(self._since_overdue_s)]
        made = Ordering(jobs, lanes, self._order, now_s=now, clock=clock, pace=pace, limits=limits)
        return Orders(made, waiting)

    def adopt(self, orders: Orders[KeyT]) -> None:
        """They go in that order from now on; who has come since goes behind."""
        if orders.ordering.ready:
            self._list.reorder([orders.waiting[job.key] for job in orders.ordering.orders[0]])

    def _place(
        self, ask: Ask, now: float, kept: frozenset[str], room: Room
    ) -> Decision | PlacementError:
        """On an instance with room that is not kept for others; or why there is none."""
        try:
            decision = ask.place(self._scheduler, now, room=room, kept=kept)
        except PlacementError as refusal:
            return refusal
        had = decision.uncached_tokens + output_tokens(ask.request) * ask.request.sequences
        self._attained.add(ask.request.session, had)
        return decision

    def _free(self, kept: frozenset[str], now: float) -> frozenset[str]:
        return self._scheduler.with_room(ANY, self._room, now, exclude=kept)

    def _keep(self, one: Waiting[KeyT], kept: frozenset[str]) -> frozenset[str]:
        """An instance of its own: the emptiest when it was chosen, and the same as long as it may
        run there. The others go on: to empty all of them for one would cost as many times as much.
        """
        ask = one.ask
        one.kept = self._scheduler.emptiest(
            ask.request,
            self._room,
            among=ask.among,
            exclude=kept.union(ask.exclude),
            first=one.kept,
        )
        return frozenset() if one.kept is None else frozenset({one.kept})

    def _yield(self, one: Waiting[KeyT]) -> None:
        one.yields = True
        self._yielding += 1

    def _start(self, one: Waiting[KeyT], now: float, *, at_any_price: bool) -> None:
        promoted = self._list.is_promoted(one)
        self._list.leave(one)
        self._prospect.start(now)
        at = Moment.of(self._prospect.lane(), now, len(self._list))
        overdue, work_s = self._order.patience.ends_for(one.job, at), one.job.service_s(at.token_s)
        self._since_promoted_s = 0.0 if promoted else self._since_promoted_s + work_s
        self._since_any_price_s = 0.0 if at_any_price else self._since_any_price_s + work_s
        self._since_overdue_s = 0.0 if overdue else self._since_overdue_s + work_s

    def _in_turn(self, now: float) -> Iterator[tuple[Waiting[KeyT], bool]]:
        """All, and whether it is the turn of a promoted one, which goes at any price; to be left as
        soon as nothing is free.
        """
        running = self._scheduler.tenants
        at = Moment.of(self._prospect.lane(), now, len(self._list))
        promoted = deque(one for one in self._list.promoted if not at.hopeless(one.job))
        taken: set[str] = set()
        rest = self._list.in_order
        if len(rest) > self._at_once:
            rest = sorted(rest, key=_class)
        elif len(rest) > 1:
            rest = self._arranged(rest, now)
        for one in in_turn(rest, running):
            while promoted and self._has_turn(promoted[0], at):
                first = promoted.popleft()
                if first.job.key not in taken:
                    taken.add(first.job.key)
                    yield first, at.is_due(first.job, EVERY, self._since_any_price_s)
            if one.job.key not in taken:
                taken.add(one.job.key)
                yield one, False
        for one in in_turn(self._list.degraded, running):
            yield one, False

    def _has_turn(self, one: Waiting[KeyT], at: Moment) -> bool:
        """One that was too dear has its turn whatever other promoted ones have been given."""
        since_s = self._since_any_price_s if one.yields else self._since_promoted_s
        return at.is_due(one.job, EVERY, since_s)

    def _arranged(self, waiting: list[Waiting[KeyT]], now: float) -> list[Waiting[KeyT]]:
        self._prospect.look(now)
        known = {one.job.key: one for one in waiting}
        lane = self._prospect.lane(self._since_overdue_s)
        jobs = arrange(self._order, [one.job for one in waiting], lane, now)
        return [known[job.key] for job in jobs]

    def _job(self, request: RequestView, now: float) -> Job:
        self._prospect.look(now)
        slo, tokens = request.slo, max(1, request.prompt_tokens)
        return Job(
            key=str(self._number),
            arrived_s=now,
            prefill_s=self._prospect.costs.prefill(tokens, attended(tokens, tokens)),
            output_tokens=output_tokens(request),
            ttft_s=slo.ttft_s,
            tpot_s=slo.tpot_s,
            e2e_s=slo.e2e_s,
            priority=request.priority,
            attained_tokens=self._attained.of(request.session),
            most_output_tokens=request.most_output_tokens or 0.0,
        )


def _class(one: Waiting[KeyT]) -> int:
    return -one.job.priority
