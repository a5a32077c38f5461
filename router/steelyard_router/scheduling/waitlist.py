"""Who waits, since when, and who of them has waited for too long.

Kept true: each is in the list once, and promoted, degraded or neither; one that has left is in no
answer any more.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Generic

from steelyard_router.scheduling.waiting import KeyT, OnTimeout, Waiting


class WaitList(Generic[KeyT]):
    """In the order that was given last (`reorder`), newcomers behind."""

    def __init__(self) -> None:
        self._all: dict[KeyT, Waiting[KeyT]] = {}
        self._promoted: dict[KeyT, Waiting[KeyT]] = {}
        self._degraded: dict[KeyT, Waiting[KeyT]] = {}
        self._given_up: list[KeyT] = []
        self._timers: list[tuple[float, int, Waiting[KeyT]]] = []
        """When somebody's time is up, of some who have left as well."""
        self._turns: list[Waiting[KeyT]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Waiting[KeyT]]:
        return iter(self._all.values())

    def add(self, one: Waiting[KeyT]) -> None:
        self._all[one.key] = one
        self._turns.append(one)
        limit, since_s = one.limit, one.job.arrived_s
        for wait_s in {limit.max_wait_s, limit.longest_s} - {inf}:
            self._added += 1
            heappush(self._timers, (since_s + wait_s, self._added, one))

    def find(self, key: KeyT) -> Waiting[KeyT] | None:
        return self._all.get(key)

    def leave(self, one: Waiting[KeyT]) -> None:
        one.gone = True
        for where in (self._all, self._promoted, self._degraded):
            where.pop(one.key, None)

    @property
    def next_s(self) -> float | None:
        """When somebody's time is up next."""
        while self._timers and self._timers[0][2].gone:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def age(self, now: float) -> None:
        """Let those whose time is up go where their limits say."""
        while (due_s := self.next_s) is not None and due_s <= now:
            _, _, one = heappop(self._timers)
            on_timeout = one.limit.on_timeout
            if on_timeout is OnTimeout.REJECT or self._is_late(one):
                self.leave(one)
                self._given_up.append(one.key)
            elif on_timeout is OnTimeout.PROMOTE:
                self._promoted[one.key] = one
            else:
                self._degraded[one.key] = one

    def given_up(self) -> list[KeyT]:
        """Those who have left because nobody waits for longer; each is told once."""
        gone, self._given_up = self._given_up, []
        return gone

    def is_promoted(self, one: Waiting[KeyT]) -> bool:
        return one.key in self._promoted

    @property
    def promoted(self) -> list[Waiting[KeyT]]:
        return list(self._promoted.values())

    @property
    def degraded(self) -> list[Waiting[KeyT]]:
        return list(self._degraded.values())

    @property
    def in_order(self) -> list[Waiting[KeyT]]:
        """All who have a place in the order: everyone but the degraded."""
        self._turns = [one for one in self._turns if not one.gone]
        if not self._degraded:
            return self._turns
        return [one for one in self._turns if one.key not in self._degraded]

    def reorder(self, first: Sequence[Waiting[KeyT]]) -> None:
        """Those in that order; who is not among them goes behind, as before."""
        known = {id(one) for one in first}
        later = [one for one in self._turns if id(one) not in known]
        self._turns = [*first, *later]

    def _is_late(self, one: Waiting[KeyT]) -> bool:
        return one.key in self._promoted or one.key in self._degraded
