"""Prompts as a service of long conversations sees them, as chained block hashes without any text.

Of all requests, three in four are the next turn of an open conversation: all that was said before,
and some more. One in ten asks an earlier turn again and goes on differently. The others begin a
conversation, most behind one of a few system prompts, popular ones more often than rare ones. A
conversation starts a little below the nominal length and ends above five quarters of it, so the
nominal length is about the mean.
"""

from dataclasses import dataclass, field

import numpy as np

from steelyard_router.scheduling.request import HASH_BYTES

SYSTEM_PROMPTS = 32
SYSTEM_SHARE = 1 / 16
TURN_SHARE = 1 / 16
AGAIN, NEXT = 0.1, 0.85


@dataclass(slots=True)
class Conversations:
    """An endless source of prompts of about `blocks` blocks, from `open_count` conversations."""

    rng: np.random.Generator
    blocks: int
    open_count: int
    _systems: list[bytes] = field(default_factory=list)
    _open: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        longest = max(2, int(self.blocks * SYSTEM_SHARE * 2))
        lengths = self.rng.integers(1, longest, SYSTEM_PROMPTS)
        self._systems = [self._fresh(int(length)) for length in lengths]

    def next(self) -> bytes:
        kind = self.rng.random()
        if len(self._open) < self.open_count or kind >= NEXT:
            return self._begin()
        place = int(self.rng.integers(len(self._open)))
        if kind < AGAIN:
            return self._again(self._open[place])
        return self._go_on(place)

    def _begin(self) -> bytes:
        size = self.blocks * 7 // 8
        system = b""
        if self.rng.random() < 0.9:
            system = self._systems[int(SYSTEM_PROMPTS * self.rng.random() ** 3)]
        prompt = system + self._fresh(max(1, size - len(system) // HASH_BYTES))
        if len(self._open) < self.open_count:
            self._open.append(prompt)
        else:
            self._open[int(self.rng.integers(len(self._open)))] = prompt
        return prompt

    def _go_on(self, place: int) -> bytes:
        turn = max(1, int(self.blocks * TURN_SHARE * 2 * self.rng.random()))
        prompt = self._open[place] + self._fresh(turn)
        if len(prompt) > self.blocks * HASH_BYTES * 5 // 4:
            del self._open[place]
        else:
            self._open[place] = prompt
        return prompt

    def _again(self, said: bytes) -> bytes:
        kept = int(self.rng.integers(1, len(said) // HASH_BYTES))
        return said[: kept * HASH_BYTES] + self._fresh(max(1, len(said) // HASH_BYTES - kept))

    def _fresh(self, blocks: int) -> bytes:
        return self.rng.bytes(blocks * HASH_BYTES)
