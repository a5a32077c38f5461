"""The prefix index: which instance holds how much of a prompt, for all instances in one walk.

Runs of blocks are stored once, in a tree; what each instance holds of them is a shelf of its own,
as large as that engine's cache, which evicts as engines do: the blocks whose last use is oldest, of
those the deepest first. What stays true:

- an instance that holds a block holds all blocks before it;
- a prompt's blocks become recent together, earlier ones more than later ones, so the oldest entry
  of a shelf never has a descendant there;
- a node has a holder, so an instance that leaves leaves nothing behind;
- `bytes` (an estimate) is at most the budget after every insert.

Work is per node and holder on one prompt's path, not per block and instance.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import inf
from typing import Final

from steelyard_router.scheduling.request import HASH_BYTES
from steelyard_router.scheduling.shelf import Entry, Node, Shelf
from steelyard_router.scheduling.tree import Tree

NODE_BYTES: Final = 460
ENTRY_BYTES: Final = 90
"""Memory of a node and of an entry beside the hashes, measured on CPython 3.11 (bench decision)."""
SCANNED_STEPS: Final = 8
"""Where holders of a path become fewer more often than this, each holder's end is bisected."""


@dataclass(slots=True)
class Match:
    """Where a prompt leads: the nodes along it, how many blocks they know, every slot's hit."""

    blocks: bytes
    path: list[Node]
    length: int
    hits: list[int]
    """By slot, in blocks."""


@dataclass(slots=True, eq=False)
class Trail:
    """What one insert found and did, so that later evidence can be laid against it."""

    shelf: Shelf
    blocks: bytes
    hit: int
    """Blocks that were believed to be there already,"""
    marks: list[tuple[int, int]]
    """and (end, stamp) of their entries as they were, deepest first."""
    stamp: int
    unsettled: float
    """Stamps from this on are of prompts that the engine was possibly still computing."""


class PrefixIndex:
    """`insert` takes the match of a lookup; nothing may have changed the index in between."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._tree = Tree()
        self._shelves: list[Shelf | None] = []
        self._stamp = 0
        self._entries = 0
        self.holder_count = 0
        """Pairs of a block and an instance that holds it."""
        self.budget_evictions = 0
        """Entries dropped for the byte budget while their engine's cache had room."""

    @property
    def block_count(self) -> int:
        """Different blocks stored."""
        return self._tree.block_count

    def open(self, slot: int) -> Shelf:
        """An empty shelf in a free slot."""
        if slot == len(self._shelves):
            self._shelves.append(None)
        shelf = self._shelves[slot] = Shelf(slot)
        return shelf

    def close(self, shelf: Shelf) -> None:
        self.purge(shelf)
        self._shelves[shelf.slot] = None

    def lookup(self, blocks: bytes) -> Match:
        """Follow a prompt as far as any instance knows it. Changes nothing."""
        path, length = self._tree.walk(blocks)
        return Match(blocks, path, length, self._hits(path, length))

    def insert(self, shelf: Shelf, match: Match, capacity: int, unsettled: float = inf) -> Trail:
        """Put a prompt on a shelf of `capacity` blocks; what was used longest ago makes room.

        A prompt longer than the capacity leaves only its beginning.
        """
        self._stamp += 1
        path, count = self._fit(shelf, match, min(len(match.blocks) // HASH_BYTES, capacity))
        hit = min(match.hits[shelf.slot], count)
        marks = self._touch(shelf, path, count)
        if shelf.blocks > capacity:
            self._evict(shelf, shelf.blocks - capacity)
        while self.bytes > self._budget and self._entries:
            self._evict_longest_unused()
        return Trail(shelf, match.blocks, hit, marks, self._stamp, unsettled)

    def retract(self, trail: Trail) -> None:
        """Take back what an insert added, if unused since: the engine never computed it."""
        for node in reversed(self._tree.walk(trail.blocks)[0]):
            entry = node.holders.get(trail.shelf.slot)
            if entry is None:
                continue
            surplus = node.start + entry.held - trail.hit
            if entry.stamp != trail.stamp or surplus <= 0:
                return
            self._shrink(trail.shelf, entry, min(surplus, entry.held))

    def disprove(self, trail: Trail, blocks: int) -> None:
        """The engine had only the first `blocks` of the trail's hit, so it has evicted the others.

        So it has evicted everything that was used longer ago than those, too. But a block that
        another prompt was possibly still computing proves nothing: it was not there yet.
        """
        stamp = next((stamp for end, stamp in reversed(trail.marks) if end > blocks), 0)
        if stamp >= trail.unsettled:
            return
        while (entry := trail.shelf.oldest) and entry.stamp < stamp:
            self._drop(trail.shelf, entry)

    def purge(self, shelf: Shelf) -> None:
        """Forget all that an instance holds, in time proportional to that."""
        for entry in shelf:
            self._drop(shelf, entry)

    def _hits(self, path: list[Node], length: int) -> list[int]:
        """Up to where each slot holds the path: to the end of its deepest entry there."""
        hits = [0] * len(self._shelves)
        steps: list[Node] = []  # deepest first; between two of them, the holders are the same ones
        for node in reversed(path):
            if not steps or len(node.holders) != len(steps[-1].holders):
                steps.append(node)
        if len(steps) > SCANNED_STEPS:
            holders = [node.holders for node in reversed(steps)]
            for slot in holders[0]:
                hits[slot] = min(_end(holders, slot), length)
            return hits
        for node in steps:
            start = node.start
            for slot, entry in node.holders.items():
                if not hits[slot]:
                    end = start + entry.held
                    hits[slot] = end if end < length else length
        return hits

    def _fit(self, shelf: Shelf, match: Match, count: int) -> tuple[list[Node], int]:
        """Shape the tree so that a path spells the prompt's first `count` blocks; returns both.

        The last node may go on only if this shelf holds nothing of what follows. The count shrinks
        where a forged hash leaves no place for the rest.
        """
        path, length = match.path, min(match.length, count)
        while path and path[-1].start >= count:
            path.pop()
        if path and self._must_split(shelf, path[-1], length, count):
            upper = self._split(path.pop(), length)
            if upper is None:
                return path, path[-1].start + path[-1].length if path else 0
            path.append(upper)
        if length < count:
            tail = match.blocks[length * HASH_BYTES : count * HASH_BYTES]
            if path and path[-1].leaf:
                self._tree.extend(path[-1], tail)
            elif node := self._tree.add(tail, length):
                path.append(node)
            else:
                count = length
        return path, count

    def _must_split(self, shelf: Shelf, last: Node, length: int, count: int) -> bool:
        covered = length - last.start
        if covered == last.length:
            return False
        entry = last.holders.get(shelf.slot)
        return length < count or (entry is not None and entry.held > covered)

    def _split(self, node: Node, position: int) -> Node | None:
        """The part of a node that ends at `position`; None if it cannot be parted there."""
        at = position - node.start
        if all(entry.held <= at for entry in node.holders.values()):
            self._tree.trim(node, at)
            return node
        upper = self._tree.split(node, at)
        if upper:
            self._entries += len(node.holders)
        return upper

    def _touch(self, shelf: Shelf, path: list[Node], count: int) -> list[tuple[int, int]]:
        """Make a path the shelf's most recent one. Returns the marks of what it was before."""
        marks = []
        slot, stamp, grown = shelf.slot, self._stamp, 0
        for node in reversed(path):
            entry = node.holders.get(slot)
            if entry is None:
                entry = node.holders[slot] = Entry(node, 0, stamp)
                self._entries += 1
            else:
                marks.append((node.start + entry.held, entry.stamp))
                entry.stamp = stamp
            covered = count - node.start
            grown += covered - entry.held
            entry.held = covered
            count = node.start
            shelf.renew(entry)
        shelf.blocks += grown
        self.holder_count += grown
        return marks

    def _evict(self, shelf: Shelf, excess: int) -> None:
        while excess > 0 and (entry := shelf.oldest):
            cut = min(excess, entry.held)
            self._shrink(shelf, entry, cut)
            excess -= cut

    def _evict_longest_unused(self) -> None:
        heads = ((shelf, shelf.oldest) for shelf in self._shelves if shelf)
        shelf, entry = min(
            ((shelf, entry) for shelf, entry in heads if entry), key=lambda head: head[1].stamp
        )
        self._drop(shelf, entry)
        self.budget_evictions += 1

    def _shrink(self, shelf: Shelf, entry: Entry, cut: int) -> None:
        """Take the last `cut` blocks from an entry, and the entry itself when nothing is left."""
        if cut == entry.held:
            self._drop(shelf, entry)
            return
        entry.held -= cut
        shelf.blocks -= cut
        self.holder_count -= cut
        if len(entry.node.holders) == 1:
            self._tree.trim(entry.node, entry.held)

    def _drop(self, shelf: Shelf, entry: Entry) -> None:
        entry.unlink()
        node = entry.node
        del node.holders[shelf.slot]
        self._entries -= 1
        shelf.blocks -= entry.held
        self.holder_count -= entry.held
        if not node.holders:
            self._tree.remove(node)

    @property
    def bytes(self) -> int:
        """Estimate of what it takes; last in the class, since it hides the builtin's name."""
        entries = self._entries * ENTRY_BYTES
        return len(self._tree) * NODE_BYTES + entries + self.block_count * HASH_BYTES


def _end(holders: list[dict[int, Entry]], slot: int) -> int:
    """End of a slot's deepest entry among those of nested holders, of whom the first have it."""
    deepest = bisect_left(holders, x=True, key=lambda entries: slot not in entries) - 1
    entry = holders[deepest][slot]
    return entry.node.start + entry.held
