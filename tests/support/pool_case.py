"""Pools over instances of which it is known how many sequences each runs."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from random import Random

from steelyard_router.scheduling import order
from steelyard_router.scheduling.fleet import STEADY
from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.pool import Pool
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import ROOM, Room
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.strategy import Multiplicative, Strategy
from steelyard_router.scheduling.waiting import Ask, OnTimeout, WaitLimit

PRODUCT = Multiplicative()


def shown_width(scheduler: Scheduler, name: str, width: int, now: float = 0.0) -> None:
    """By reports of others' requests, which have ended by now."""
    for _ in range(STEADY):
        scheduler.observe(name, running=width, waiting=1, now=now)
    scheduler.observe(name, running=0, waiting=0, now=now)


def instances(
    widths: Mapping[str, int], cache_tokens: int = 10**6, predictor: Predictor | None = None
) -> Scheduler:
    scheduler = Scheduler(index_bytes=10**7, predictor=predictor)
    for name, width in widths.items():
        scheduler.join(name, cache_tokens=cache_tokens)
        shown_width(scheduler, name, width)
    return scheduler


@dataclass
class Front:
    """A pool and the leases of what it has placed, by the keys of the requests."""

    scheduler: Scheduler
    order_name: str = order.FCFS.name
    room: Room = ROOM
    max_wait_s: float = inf
    on_timeout: OnTimeout = OnTimeout.PROMOTE
    at_once: int = sys.maxsize
    seed: int = 1
    strategy: Strategy = PRODUCT
    placed: dict[str, str] = field(default_factory=dict)
    """Instances by key, in the order in which they went."""
    leases: dict[str, Lease] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rule = order.build(self.order_name, Random(self.seed))
        self.pool: Pool[str] = Pool(self.scheduler, rule, room=self.room, at_once=self.at_once)
        self.limit = WaitLimit(self.max_wait_s, self.on_timeout)

    def offer(
        self,
        key: str,
        request: RequestView | None = None,
        now: float = 0.0,
        *,
        among: frozenset[str] | None = None,
    ) -> str | None:
        """Where it goes at once."""
        ask = Ask(request or RequestView(), self.strategy, among=among)
        decision = self.pool.offer(key, ask, self.limit, now)
        return None if decision is None else self._took(key, decision)

    def release(self, now: float = 0.0) -> list[tuple[str, str]]:
        return [(key, self._took(key, one)) for key, one in self.pool.release(now)]

    def end(self, key: str, now: float = 0.0) -> list[tuple[str, str]]:
        """Its reply is complete; who goes then."""
        self.leases.pop(key).release(now)
        return self.release(now)

    def drain(self, now: float = 0.0) -> Iterator[str]:
        """The keys of all who wait, in the order in which they go as others end."""
        while self.leases:
            for key, _ in self.end(next(iter(self.leases)), now):
                yield key

    def _took(self, key: str, decision: Decision) -> str:
        assert key not in self.placed
        self.placed[key], self.leases[key] = decision.instance, decision.lease
        return decision.instance
