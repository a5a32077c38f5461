"""Which instances there are: names, slots, how many requests each may take.

A slot is a small number by which columns are indexed. Slots of instances that have left are used
again, so nothing that may outlive an instance is kept by slot: that is what the account and the
shelf of a member are for.
"""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from steelyard_router.scheduling.ledger import Account
from steelyard_router.scheduling.shelf import Shelf

SELECTIONS: Final = 64
"""Sets of names whose members are remembered; about one per served model is in use."""
STEADY: Final = 3
"""Reports in a row with requests that wait and as many that run, after which an engine is full;"""
CROWDED: Final = 12
"""and with requests that wait, however many run."""
PROBE_S: Final = 60.0
"""Between two times that a full instance is given more than it is known to run,"""
PROBE: Final = 1 / 16
"""by such a share, and one at least."""


@dataclass(slots=True, eq=False)
class Member:
    """An instance from join to leave."""

    name: str
    slot: int
    account: Account
    shelf: Shelf
    cache_tokens: int
    """Of its KV memory;"""
    cache_known: bool = False
    """told, and not assumed."""
    limit: float = inf
    """Sequences of ours from which on it gets nothing."""
    width: float = inf
    """Sequences that its engine runs at once, as far as its reports have shown;"""
    told_s: float = -inf
    """when one last told that no more fit; -inf once it was given more;"""
    crowded: deque[int] = field(default_factory=lambda: deque(maxlen=CROWDED))
    """and how many ran in each of the latest reports in a row with some that wait."""

    def report(self, running: int | None, waiting: int | None, now: float) -> None:
        """An engine is full that lets requests wait, report after report, and runs as many in each;
        or that always lets some wait, since its memory is full. Where one or the other is not so,
        who waits has just come, and waits for the end of a step; and where more of our prompts are
        not computed than wait, one is being computed, and who waits may wait for that. One that has
        not been full for long, with as many there as were thought to fill it, may take more by now
        (memory may have made it narrow, and prompts be shorter now): it is given some more to find
        out, and again at once while it takes them.
        """
        if running is None:
            return
        if not waiting:
            self.crowded.clear()
        if not running:
            return
        if waiting:
            if len(self.account.line) > waiting:
                self.width = max(self.width, running)
                return
            self.crowded.append(running)
        if self._full:
            self.width, self.told_s = max(self.crowded), now
        elif running > self.width:
            self.width, self.told_s = running, -inf
        elif running == self.width and now - self.told_s >= PROBE_S:
            self.width, self.told_s = running + max(1, int(running * PROBE)), -inf

    @property
    def _full(self) -> bool:
        """Only the latest reports count: an engine may have been restarted with fewer slots."""
        seen = list(self.crowded)
        steady = len(seen) >= STEADY and min(seen[-STEADY:]) == max(seen)
        return steady or len(seen) == CROWDED


class Fleet:
    """The members, by name and by slot."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._slots: list[Member | None] = []
        self._in_order: list[Member] = []
        self._selections: dict[frozenset[str], list[Member]] = {}

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __getitem__(self, slot: int) -> Member:
        member = self._slots[slot]
        assert member is not None
        return member

    def find(self, name: str) -> Member | None:
        return self._members.get(name)

    def free_slot(self) -> int:
        """The lowest slot without a member; one past the last if there is none."""
        return self._slots.index(None) if None in self._slots else len(self._slots)

    def add(self, member: Member) -> None:
        """Put a member into the free slot that it names."""
        if member.slot == len(self._slots):
            self._slots.append(None)
        self._slots[member.slot] = self._members[member.name] = member
        self._reorder()

    def remove(self, member: Member) -> None:
        del self._members[member.name]
        self._slots[member.slot] = None
        self._reorder()

    def eligible(self, among: frozenset[str] | None, exclude: Collection[str]) -> list[Member]:
        """In order of slots, those below their limit, among the names given and not excluded."""
        members = self._in_order if among is None else self._selection(among)
        if exclude:
            members = [member for member in members if member.name not in exclude]
        return [member for member in members if member.account.sequences < member.limit]

    def _reorder(self) -> None:
        self._in_order = [member for member in self._slots if member is not None]
        self._selections.clear()

    def _selection(self, names: frozenset[str]) -> list[Member]:
        if (members := self._selections.get(names)) is None:
            members = [member for member in self._in_order if member.name in names]
            if len(self._selections) >= SELECTIONS:
                self._selections.clear()
            self._selections[names] = members
        return members
