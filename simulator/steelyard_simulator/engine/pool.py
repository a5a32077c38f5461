"""The KV cache: one pool of blocks for everything that runs, with a prefix cache over it.

A block is private (its content has no hash yet, or never gets one), shared (known by its hash and
held by at least one sequence), or cached (known by its hash, held by none). A private block has no
identity, so a count is enough. Cached blocks count as available: they go, least recently used
first, when others need the room. Always: private + shared + cached <= capacity.
"""

from collections import OrderedDict
from collections.abc import Sequence as Seq


class BlockPool:
    """Counts in blocks; hashes are chained, so a run of hits from the front is a common prefix."""

    __slots__ = ("_cached", "_doomed", "_private", "_shared", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._private = 0
        self._shared: dict[int, int] = {}
        self._cached: OrderedDict[int, None] = OrderedDict()
        self._doomed: set[int] = set()

    @property
    def used(self) -> int:
        return self._private + len(self._shared)

    @property
    def available(self) -> int:
        return self.capacity - self._private - len(self._shared)

    @property
    def cached(self) -> int:
        """Blocks that no one holds and that can still be hit."""
        return len(self._cached)

    def match(self, hashes: Seq[int], limit: int) -> int:
        """How many of the first `limit` blocks are in the pool, counted from the front."""
        shared, cached = self._shared, self._cached
        count = 0
        for block in hashes[:limit]:
            if block not in shared and block not in cached:
                break
            count += 1
        return count

    def fits(self, hashes: Seq[int], hits: int, private: int) -> bool:
        """Whether the first `hits` blocks can be held and `private` more be taken."""
        if private + hits <= self.available:
            return True
        cached = self._cached
        revived = sum(block in cached for block in hashes[:hits])
        return private + revived <= self.available

    def hold(self, hashes: Seq[int], hits: int) -> None:
        """Takes a reference on the first `hits` blocks, which must be in the pool."""
        shared, cached = self._shared, self._cached
        for block in hashes[:hits]:
            if block in shared:
                shared[block] += 1
            else:
                del cached[block]
                shared[block] = 1

    def take(self, count: int) -> None:
        """Takes private blocks; the caller has checked that they are available."""
        self._private += count
        excess = self._private + len(self._shared) + len(self._cached) - self.capacity
        for _ in range(excess):
            self._cached.popitem(last=False)

    def give_back(self, count: int) -> None:
        self._private -= count

    def publish(self, hashes: Seq[int], start: int, stop: int) -> None:
        """Makes a sequence's private blocks start..stop known by their hashes, and holds them.

        Where a block of that hash is in the pool already, that one is held and the own copy given
        back.
        """
        shared, cached = self._shared, self._cached
        for block in hashes[start:stop]:
            if block in shared:
                shared[block] += 1
            else:
                cached.pop(block, None)
                shared[block] = 1
        self._private -= max(0, stop - start)

    def release(self, hashes: Seq[int], count: int) -> None:
        """Drops a reference on the first `count` blocks, the tail first.

        So the tail is evicted before what it continues, which more prompts have in common.
        """
        shared, cached = self._shared, self._cached
        for block in reversed(hashes[:count]):
            holders = shared[block] - 1
            if holders:
                shared[block] = holders
                continue
            del shared[block]
            if block in self._doomed:
                self._doomed.discard(block)
            else:
                cached[block] = None

    def reset(self) -> None:
        """Forgets the cache. Blocks in use are forgotten when their last holder leaves."""
        self._cached.clear()
        self._doomed = set(self._shared)
