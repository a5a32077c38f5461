"""The router's pool in front of its scheduler, as a policy of the fleet that holds requests."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final

from steelyard_router.scheduling import order
from steelyard_router.scheduling.order import Order
from steelyard_router.scheduling.pool import MAX_WAIT_S, Pool
from steelyard_router.scheduling.room import Room
from steelyard_simulator.replay.policy import Arrival, Options, Placement
from steelyard_simulator.replay.scheduled import SchedulerPolicy

ORDER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "default": order.AUTO,
        "fcfs": order.FCFS.name,
        "edf": order.Deadline.name,
        "laxity": order.LeastLaxity.name,
        "sjf": order.ShortestPredicted.name,
        "annealing": order.Annealing.name,
    }
)
"""The orders of the pool by their names on a command line."""


class PooledPolicy(SchedulerPolicy):
    """A SchedulerPolicy that places only where there is room."""

    holds = True

    def with_pool(self, order: Order, room: Room, max_wait_s: float) -> "PooledPolicy":
        self._pool: Pool[int] = Pool(self.scheduler, order, room=room, max_wait_s=max_wait_s)
        return self

    def place(self, arrival: Arrival, now: float) -> str | None:
        strategy = self.strategy(arrival.workload)
        decision = self._pool.offer(arrival.id, arrival.view, strategy, now)
        if decision is None:
            return None
        self.leases[arrival.id] = decision.lease
        return decision.instance

    def dispatch(self, now: float) -> Sequence[Placement]:
        gone = self._pool.release(now)
        for arrival_id, decision in gone:
            self.leases[arrival_id] = decision.lease
        return [Placement(arrival_id, decision.instance) for arrival_id, decision in gone]

    @property
    def next_s(self) -> float | None:
        return self._pool.next_s

    def failed(self, arrival_id: int, now: float) -> None:
        if not self._pool.withdraw(arrival_id):
            super().failed(arrival_id, now)


def pooled(name: str) -> Callable[[str, Options], PooledPolicy]:
    """A maker of policies with the order of that name; `queue` and `kv` are the bounds of room.py,
    `wait` is how long anyone waits at most.
    """

    def make(strategy: str, options: Options) -> PooledPolicy:
        rule = order.build(ORDER_NAMES[name], Random(options.seed))
        room = Room(
            queued_s=options.parameter("queue", Room().queued_s),
            kv_share=options.parameter("kv", Room().kv_share),
        )
        policy = PooledPolicy.of(strategy, options)
        return policy.with_pool(rule, room, options.parameter("wait", MAX_WAIT_S))

    return make
