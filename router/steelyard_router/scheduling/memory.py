"""KV memory of one instance, in tokens: what it holds, and the most that it will come to hold.

Held is what the engine last reported, and what leases have added since: the tokens of their prompts
and of the replies that have come. Of what is cached of a prompt, some is held by others already and
some by nobody: as large a share of it counts as is held of all the contexts there.

Replies grow as they are expected to, all at one pace, and those that end make room for those that
go on. So the most is found at the end of one of them: where all have just begun it is all that they
hold and all that they will grow by, and where they have begun one after the other it is what they
hold by now. One that has grown beyond what was expected is taken to stay.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steelyard_router.scheduling.lease import Lease

LEVELS: Final = 24
"""Powers of two in which is told apart how much of a reply is left."""


class Memory:
    """Whole numbers, so that what was added is taken away exactly."""

    __slots__ = ("_growing", "_kv", "_left", "_most", "held", "left", "own")

    def __init__(self) -> None:
        self.held = 0
        """What it holds by now;"""
        self.own = 1.0
        """and how much of all contexts that is: less than 1 where they have beginnings in common.
        1 for an engine that reports nothing."""
        self.left = 0
        """What is left of all replies."""
        self._growing = [0] * LEVELS
        """By how much is left of each: sequences,"""
        self._left = [0] * LEVELS
        """what is left of all of them,"""
        self._kv = [0] * LEVELS
        """and what they hold."""
        self._most: int | None = 0
        """None: to be worked out when somebody asks."""

    @property
    def tokens(self) -> int:
        """The most that it will come to hold."""
        if self._most is None:
            self._most = self._foresee()
        return max(self._most, self.held)

    @property
    def ceiling(self) -> int:
        """Never less than `tokens`, and known without working anything out."""
        return self.held + self.left

    def needed(self, prompt_tokens: int, cached_tokens: float) -> int:
        """What a prompt takes of which so much is cached."""
        return prompt_tokens - int((1 - self.own) * cached_tokens)

    def add(self, lease: "Lease") -> None:
        cached = lease.prompt_tokens - lease.uncached_tokens
        lease.kv = self.needed(lease.prompt_tokens, cached)
        self.held += lease.kv
        self._count(lease, 1)
        self._most = None

    def lengthen(self, lease: "Lease", tokens: int) -> None:
        """Its reply has so many more. While it grows as was expected, the most is what it was."""
        before = self._count(lease, -1)
        lease.left = max(0, lease.left - tokens)
        lease.kv += tokens
        self.held += tokens
        if self._count(lease, 1) != before or not lease.left:
            self._most = None

    def release(self, lease: "Lease") -> None:
        """What it shared with others stays, so it may take less than it counts for."""
        self._count(lease, -1)
        self.held = max(0, self.held - lease.kv)
        self._most = None

    def report(self, held_tokens: float, pending: int, context: int) -> None:
        """The engine holds so many. It may not have begun on the `pending` ones of prompts; those
        that decode have `context` of them.
        """
        self.held = round(held_tokens) + pending
        self.own = min(1.0, held_tokens / context) if context else 1.0
        self._most = None

    def _count(self, lease: "Lease", times: int) -> int:
        """Once more or once less; gives the level."""
        level = min((lease.left // lease.sequences).bit_length(), LEVELS - 1)
        self._growing[level] += times * lease.sequences
        self._left[level] += times * lease.left
        self.left += times * lease.left
        self._kv[level] += times * lease.kv
        return level

    def _foresee(self) -> int:
        """From the end of one level to the next; whoever is in one is taken to end together."""
        held = most = self.held
        growing = sum(self._growing) - self._growing[0]
        for level in range(1, LEVELS):
            if not growing:
                break
            if many := self._growing[level]:
                most = max(most, held + growing * self._left[level] // many)
                growing -= many
                held = max(0, held - self._kv[level])
        return most
