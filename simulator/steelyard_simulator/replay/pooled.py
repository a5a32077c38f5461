"""The router's pool in front of its scheduler, as a policy of the fleet that holds requests."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Final

from steelyard_router.scheduling import order
from steelyard_router.scheduling.order import Order
from steelyard_router.scheduling.pool import Pool
from steelyard_router.scheduling.room import ROOM, Room
from steelyard_router.scheduling.waiting import WAIT_LIMIT, Ask, WaitLimit
from steelyard_simulator.replay.earliest_deadline import EarliestDeadline
from steelyard_simulator.replay.policy import Arrival, Options, Placement
from steelyard_simulator.replay.scheduled import SchedulerPolicy

ORDERS: Final[Mapping[str, Callable[[Random], Order]]] = MappingProxyType(
    {
        "default": partial(order.build, order.AUTO),
        "fcfs": partial(order.build, order.FCFS.name),
        "deadline": partial(order.build, order.Deadline.name),
        "edf": lambda _: EarliestDeadline(),
        "laxity": partial(order.build, order.LeastLaxity.name),
        "sjf": partial(order.build, order.ShortestPredicted.name),
        "program": partial(order.build, order.ProgramAware.name),
        "annealing": partial(order.build, order.Annealing.name),
    }
)
"""The orders of the pool by their names on a command line: the router's, and EDF as a baseline."""


class PooledPolicy(SchedulerPolicy):
    """A SchedulerPolicy that places only where there is room."""

    holds = True
    limit = WAIT_LIMIT

    def use(self, order: Order, room: Room, limit: WaitLimit) -> None:
        """All are put in order in one go: virtual time has no event loop to keep free."""
        self._pool: Pool[int] = Pool(self.scheduler, order, room=room, at_once=sys.maxsize)
        self.limit = limit

    def place(self, arrival: Arrival, now: float) -> str | None:
        ask = Ask(arrival.view, self.strategy(arrival.workload))
        decision = self._pool.offer(arrival.id, ask, self.limit, now)
        return None if decision is None else self.keep(arrival.id, decision)

    def dispatch(self, now: float) -> Sequence[Placement]:
        refused = [Placement(arrival_id, None) for arrival_id in self._pool.give_up(now)]
        gone = self._pool.release(now)
        return refused + [Placement(id_, self.keep(id_, decision)) for id_, decision in gone]

    @property
    def next_s(self) -> float | None:
        return self._pool.next_s

    def failed(self, arrival_id: int, now: float) -> None:
        if not self._pool.withdraw(arrival_id):
            super().failed(arrival_id, now)


def pooled(name: str) -> Callable[[str, Options], PooledPolicy]:
    """A maker of policies with the order of that name; `queue`, `kv`, `sequences` and `dear` are
    the bounds of room.py, `wait` is how long anyone waits before it is promoted.
    """

    def make(strategy: str, options: Options) -> PooledPolicy:
        room = Room(
            sequences=options.parameter("sequences", ROOM.sequences),
            queued_s=options.parameter("queue", ROOM.queued_s),
            kv_share=options.parameter("kv", ROOM.kv_share),
            dear=options.parameter("dear", ROOM.dear),
        )
        policy = PooledPolicy.of(strategy, options)
        policy.use(
            ORDERS[name](Random(options.seed)),
            room,
            WaitLimit(options.parameter("wait", WAIT_LIMIT.max_wait_s)),
        )
        return policy

    return make
