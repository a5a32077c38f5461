"""What a system knows of its engines' prefix caches, and from where.

- `NoPrefixes`: nothing.
- `RoutingHistory`: what it placed where, from the placing on, whether or not the engine still has
  it. Each instance's part is an LRU of a given size.
- `EngineEvents`: what engines tell of their caches. The fleet of the simulation sends no cache
  events, so they are made up from what does come, and lie close to the truth: a prompt's blocks are
  stored when it has been computed (its first byte), are used until the request ends, and make the
  engine evict those used longest ago when its cache is full; a reported shortfall of hits shows
  evictions that were missed. What is being computed is not known yet, as with real events.

Hits are whole blocks, and at most the prompt less one token: an engine always computes one.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from steelyard_router.scheduling.index import PrefixIndex, Trail
from steelyard_router.scheduling.shelf import Shelf
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.replay.policy import Arrival

BUDGET_BYTES: Final = 1 << 40
"""No limit: each instance's own is what counts here."""


class Prefixes(Protocol):
    """Told of everything that happens to a request; asked for hits before it is placed."""

    def open(self, instance: Instance) -> None: ...

    def close(self, instance: Instance) -> None: ...

    def hits(self, arrival: Arrival, fleet: Sequence[Instance]) -> list[int]:
        """Tokens of the prompt that each instance is believed to have."""
        ...

    def placed(self, claim: Claim) -> None: ...

    def answered(self, claim: Claim) -> None: ...

    def finished(self, claim: Claim, cached_tokens: int | None) -> None: ...


def matched_share(arrival: Arrival, hit_tokens: int) -> float:
    """Share of the prompt's whole blocks that a hit covers: those that can be matched at all."""
    whole = arrival.prompt_tokens // arrival.block_tokens
    return -(-hit_tokens // arrival.block_tokens) / whole if whole else 0.0


class NoPrefixes:
    """For systems that do not look at prompts."""

    def open(self, instance: Instance) -> None: ...

    def close(self, instance: Instance) -> None: ...

    def hits(self, arrival: Arrival, fleet: Sequence[Instance]) -> list[int]:
        del arrival
        return [0] * len(fleet)

    def placed(self, claim: Claim) -> None: ...

    def answered(self, claim: Claim) -> None: ...

    def finished(self, claim: Claim, cached_tokens: int | None) -> None: ...


class _Indexed:
    """An index with a shelf for every instance."""

    def __init__(self, capacity_tokens: int | None) -> None:
        self._index = PrefixIndex(BUDGET_BYTES)
        self._shelves: dict[Instance, Shelf] = {}
        self._capacity_tokens = capacity_tokens

    def open(self, instance: Instance) -> None:
        self._shelves[instance] = self._index.open(instance.slot)

    def close(self, instance: Instance) -> None:
        self._index.close(self._shelves.pop(instance))

    def hits(self, arrival: Arrival, fleet: Sequence[Instance]) -> list[int]:
        blocks = self._index.lookup(arrival.blocks).hits
        most, size = arrival.prompt_tokens - 1, arrival.block_tokens
        return [max(0, min(blocks[instance.slot] * size, most)) for instance in fleet]

    def _store(self, claim: Claim) -> Trail | None:
        """None where the instance has left."""
        shelf = self._shelves.get(claim.instance)
        if shelf is None:
            return None
        tokens = self._capacity_tokens or claim.instance.cache_tokens
        match = self._index.lookup(claim.arrival.blocks)
        return self._index.insert(shelf, match, tokens // claim.arrival.block_tokens)


class RoutingHistory(_Indexed):
    """Each instance's LRU holds `capacity_tokens`; None: as much as its engine's cache."""

    def __init__(self, capacity_tokens: int | None = None) -> None:
        super().__init__(capacity_tokens)

    def placed(self, claim: Claim) -> None:
        self._store(claim)

    def answered(self, claim: Claim) -> None: ...

    def finished(self, claim: Claim, cached_tokens: int | None) -> None: ...


class EngineEvents(_Indexed):
    """Follows the engines' own caches."""

    def __init__(self) -> None:
        super().__init__(None)
        self._trails: dict[Claim, Trail] = {}

    def close(self, instance: Instance) -> None:
        super().close(instance)
        for claim in [each for each in self._trails if each.instance is instance]:
            del self._trails[claim]

    def placed(self, claim: Claim) -> None: ...

    def answered(self, claim: Claim) -> None:
        trail = self._store(claim)
        if trail is not None:
            self._trails[claim] = trail

    def finished(self, claim: Claim, cached_tokens: int | None) -> None:
        trail = self._trails.pop(claim, None)
        if trail is None:
            return
        if cached_tokens is not None:
            size, most = claim.arrival.block_tokens, claim.arrival.prompt_tokens - 1
            blocks = cached_tokens // size
            if blocks < min(trail.hit, most // size):
                self._index.disprove(trail, blocks)
        self._store(claim)
