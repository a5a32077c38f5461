"""Who waits, since when, and who of them has waited for too long.

Kept true: each is in the list once, and promoted, degraded or neither; one that has left is in no
answer any more.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Generic

from steelyard_router.scheduling.waiting import KeyT, OnTimeout, Waiting, WaitLimit


class WaitList(Generic[KeyT]):
    """In the order that was given last (`reorder`), newcomers behind."""

    def __init__(self) -> None:
        self._all: dict[KeyT, Waiting[KeyT]] = {}
        self._promoted: dict[KeyT, Waiting[KeyT]] = {}
        self._degraded: dict[KeyT, Waiting[KeyT]] = {}
        self._given_up: list[KeyT] = []
        self._timers: list[tuple[float, int, Waiting[KeyT]]] = []
        """When somebody's time is up, of some who have left as well, or have another limit now."""
        self._turns: list[Waiting[KeyT]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Waiting[KeyT]]:
        return iter(self._all.values())

    def add(self, one: Waiting[KeyT]) -> None:
        self._all[one.key] = one
        self._turns.append(one)
        self._wind(one)

    def find(self, key: KeyT) -> Waiting[KeyT] | None:
        return self._all.get(key)

    def limit(self, one: Waiting[KeyT], limit: WaitLimit) -> None:
        """Another limit, as if it had come with that."""
        if limit != one.limit:
            one.limit = limit
            self._promoted.pop(one.key, None)
            self._degraded.pop(one.key, None)
            self._wind(one)

    def leave(self, one: Waiting[KeyT]) -> None:
        one.gone = True
        for where in (self._all, self._promoted, self._degraded):
            where.pop(one.key, None)

    @property
    def next_s(self) -> float | None:
        """When somebody's time is up next."""
        while self._timers and _is_over(*self._timers[0]):
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def age(self, now: float) -> None:
        """Let those whose time is up go where their limits say."""
        while (due_s := self.next_s) is not None and due_s <= now:
            _, _, one = heappop(self._timers)
            if due_s >= one.job.arrived_s + one.limit.longest_s:
                self.leave(one)
                self._given_up.append(one.key)
            elif one.limit.on_timeout is OnTimeout.PROMOTE:
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

    def _wind(self, one: Waiting[KeyT]) -> None:
        for due_s in _due(one) - {inf}:
            self._added += 1
            heappush(self._timers, (due_s, self._added, one))


def _due(one: Waiting[KeyT]) -> set[float]:
    """When its time is up."""
    since_s, limit = one.job.arrived_s, one.limit
    return {since_s + limit.max_wait_s, since_s + limit.longest_s}


def _is_over(due_s: float, number: int, one: Waiting[KeyT]) -> bool:
    """Whether that timer is of one that has left, or of a limit that it had before."""
    del number
    return one.gone or due_s not in _due(one)
