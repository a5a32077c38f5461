"""The event loop's side of the pool: requests that wait for an instance with room.

    offer -> at once, or wait -> released by `stir`, refused when its time is up

Kept true: whoever is placed has a lease, and one whose client has gone meanwhile gives it back at
once; the loop is never held for longer than a slice of an ordering; every wait ends.

The pool is asked again whenever something may have become free (`stir`), once for all that happens
in one turn of the loop.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Final

from steelyard_router.config import RouterConfig, SchedulerMode
from steelyard_router.errors import ClientError, NoInstance, Overloaded
from steelyard_router.ordering import order_of, room_of, wait_limits_of
from steelyard_router.proxy.roster import Roster
from steelyard_router.scheduling.order import Limits, Order, Pace
from steelyard_router.scheduling.pool import AT_ONCE, Pool
from steelyard_router.scheduling.room import ENDLESS, Room
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.strategy import Strategy
from steelyard_router.scheduling.waiting import Ask, WaitLimit
from steelyard_router.strategies import strategies_for

Among = Callable[[], frozenset[str] | None]
TOO_LATE: Final = (
    "no instance could take it in time: none had room, or others would have missed their targets"
)
ORDERED_EVERY_S: Final = 0.02
"""Between the end of an ordering of many and the beginning of the next."""


@dataclass(frozen=True, slots=True)
class Rules:
    """One configuration, compiled; raises ConfigError while it is."""

    order: Order
    room: Room
    limits: Limits
    longest: int
    """Requests that may wait."""
    strategies: Mapping[str, Strategy]
    """By workload;"""
    p_caps: Mapping[str, int | None]
    """what one may have to prefill at most;"""
    wait_limits: Mapping[str, WaitLimit]
    """and how long one may wait, likewise."""
    watched: Room | None
    """What is called room by a scheduler that is on trial: it is only counted who would wait."""

    @classmethod
    def of(cls, config: RouterConfig, rng: Random) -> "Rules":
        settings = config.policy.scheduler
        room = room_of(config.policy)
        trial = settings.mode is SchedulerMode.DRY_RUN
        return cls(
            order=order_of(settings, rng),
            room=ENDLESS if trial else room,
            limits=Limits(timeout_s=settings.timeout_ms / 1000),
            longest=config.limits.queue,
            strategies=strategies_for(config.policy),
            wait_limits=wait_limits_of(config.policy, config.limits),
            p_caps={each.name: each.routing.max_p_tokens for each in config.policy.workloads},
            watched=room if trial else None,
        )

    @property
    def at_once(self) -> int:
        return AT_ONCE if self.order.instant else 1


class Line:
    """One for the whole router. `time` is the event loop's clock."""

    def __init__(
        self,
        scheduler: Scheduler,
        rules: Rules,
        *,
        time: Callable[[], float],
        roster: Roster,
        overloaded: Callable[[str], Overloaded],
    ) -> None:
        self._scheduler = scheduler
        self._rules = rules
        self._time = time
        self._roster = roster
        self._version = roster.version
        self._changed = False
        self.would_wait: dict[str, int] = {}
        """Requests that a scheduler on trial would have held, by workload."""
        self._overloaded = overloaded
        self._pool: Pool[int] = Pool(scheduler, rules.order, room=rules.room, at_once=rules.at_once)
        self._pace = Pace()
        self._number = 0
        self._promises: dict[int, asyncio.Future[Decision]] = {}
        self._among: dict[int, Among] = {}
        self._stirred: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sorter: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """How many wait."""
        return len(self._pool)

    @property
    def yielding(self) -> int:
        """How many of them because others would miss their targets."""
        return self._pool.yielding

    def update(self, rules: Rules) -> None:
        """For those who wait too; what they are stays: their workload, targets and priority."""
        self._rules = rules
        names = rules.strategies.keys()
        self.would_wait = {name: n for name, n in self.would_wait.items() if name in names}
        for _, ask in self._pool.asks():
            if (name := ask.request.workload) in names:
                ask.strategy, ask.max_p_tokens = rules.strategies[name], rules.p_caps[name]
        self._pool.update(rules.order, rules.room, rules.at_once)
        self._pool.relimit(rules.wait_limits)
        self.stir()

    async def place(self, ask: Ask, limit: WaitLimit, among: Among) -> Decision:
        """`among` says which instances may take it, anew when others have come or gone.

        Raises NoInstance where none can ever take it, Overloaded when it has waited for as long as
        anyone may, or too many wait.
        """
        ask.among = among()
        self._watch(ask)
        self._number = number = self._number + 1
        decision = self._pool.offer(number, ask, limit, self._time())
        if decision is not None:
            return decision
        try:
            self._check(ask)
        except ClientError:
            self._pool.withdraw(number)
            raise
        promise: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._promises[number], self._among[number] = promise, among
        self.stir()
        try:
            return await promise
        except asyncio.CancelledError:
            self._abandon(number, promise)
            raise
        finally:
            del self._promises[number], self._among[number]

    def stir(self, *, changed: bool = False) -> None:
        """Something may have become free; or what an instance may take at most has changed."""
        self._changed |= changed
        if self._stirred is None and len(self._pool):
            self._stirred = asyncio.get_running_loop().call_soon(self._go)

    def close(self) -> None:
        for handle in (self._stirred, self._timer, self._sorter):
            if handle is not None:
                handle.cancel()

    def _watch(self, ask: Ask) -> None:
        """Count it if it would wait by a scheduler that is on trial."""
        room, request, name = self._rules.watched, ask.request, ask.request.workload
        if room is not None and self._scheduler.would_wait(
            request, ask.strategy, self._time(), room=room, among=ask.among
        ):
            self.would_wait[name] = self.would_wait.get(name, 0) + 1

    def _check(self, ask: Ask) -> None:
        """Raises where it may not even wait."""
        self._reach(ask)
        if len(self._pool) > self._rules.longest:
            raise self._overloaded(f"the queue of {self._rules.longest} requests is full")

    def _reach(self, ask: Ask) -> None:
        """Raises NoInstance where it would wait in vain."""
        if not self._roster.reaches(ask.among, ask.exclude):
            raise NoInstance(
                "no instance is healthy and ready; try again shortly", retry_after_s=1.0
            )

    def _go(self) -> None:
        """Lets everyone go who can, and refuses those whose time is up."""
        self._stirred = None
        now = self._time()
        if self._changed or self._version != self._roster.version:
            self._changed, self._version = False, self._roster.version
            self._look_again()
        for number in self._pool.give_up(now):
            self._refuse(number, self._overloaded(TOO_LATE))
        for number, decision in self._pool.release(now):
            promise = self._promises.get(number)
            if promise is None or promise.done():
                decision.lease.release(now, served=False)
            else:
                promise.set_result(decision)
        self._wind()

    def _wind(self) -> None:
        """See to it that what is due later is not forgotten."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop, due_s = asyncio.get_running_loop(), self._pool.next_s
        if due_s is not None:
            self._timer = loop.call_at(due_s, self._go)
        if self._pool.unordered and (self._sorter is None or self._sorter.done()):
            self._sorter = loop.create_task(self._sort())

    async def _sort(self) -> None:
        """Keeps a long line in order, one slice in each turn of the loop."""
        while self._pool.unordered:
            orders = self._pool.ordering(
                self._time(), clock=perf_counter, pace=self._pace, limits=self._rules.limits
            )
            for _ in iter(orders.ordering.advance, True):  # noqa: FBT003 -- what ends it
                await asyncio.sleep(0)
            self._pool.adopt(orders)
            await asyncio.sleep(ORDERED_EVERY_S)

    def _look_again(self) -> None:
        """Instances have come or gone: each may wait for others now, and some for none."""
        for number, ask in list(self._pool.asks()):
            try:
                ask.among = self._among[number]()
                self._reach(ask)
            except ClientError as refusal:
                self._pool.withdraw(number)
                self._refuse(number, refusal)

    def _refuse(self, number: int, refusal: ClientError) -> None:
        promise = self._promises.get(number)
        if promise is not None and not promise.done():
            promise.set_exception(refusal)

    def _abandon(self, number: int, promise: asyncio.Future[Decision]) -> None:
        """Its client has gone: leave the line, or give back what was granted meanwhile."""
        if self._pool.withdraw(number):
            return
        if promise.done() and not promise.cancelled() and promise.exception() is None:
            promise.result().lease.release(self._time(), served=False)
            self.stir()
