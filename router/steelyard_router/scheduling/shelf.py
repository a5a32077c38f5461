"""What one engine's prefix cache is believed to hold, in the order in which it was last used.

A node is a run of blocks that belong together (tree.py); an entry says that one instance holds
the first `held` blocks of one node; a shelf is an instance's entries as a list through the entries
themselves, oldest first. All of an entry's blocks were last used by the same request, `stamp`.
Nothing here refers back in a circle once unlinked, so reference counts alone free what is dropped.
"""

from collections.abc import Iterator

from steelyard_router.scheduling.request import HASH_BYTES


class Node:
    """A run of blocks, at position `start` (in blocks) of the prompts that contain it.

    `holders` maps slots to entries. `leaf` is true only while no node continues this one.
    """

    __slots__ = ("holders", "leaf", "run", "start")

    def __init__(self, run: bytes, start: int, *, leaf: bool) -> None:
        self.run = run
        self.start = start
        self.leaf = leaf
        self.holders: dict[int, Entry] = {}

    @property
    def length(self) -> int:
        return len(self.run) // HASH_BYTES


class Entry:
    """One instance's share of a node: the first `held` blocks, last used by insert `stamp`."""

    __slots__ = ("held", "newer", "node", "older", "stamp")

    def __init__(self, node: Node, held: int, stamp: int) -> None:
        self.node = node
        self.held = held
        self.stamp = stamp
        self.older = self
        self.newer = self

    def link_after(self, other: "Entry") -> None:
        """Become the entry just more recent than `other`."""
        newer = other.newer
        self.older = other
        self.newer = newer
        newer.older = self
        other.newer = self

    def unlink(self) -> None:
        self.older.newer = self.newer
        self.newer.older = self.older


class Shelf:
    """One instance's entries, oldest first, and how many blocks they hold."""

    __slots__ = ("_end", "blocks", "slot")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.blocks = 0
        self._end = Entry(Node(b"", 0, leaf=True), 0, 0)  # both ends of the ring

    @property
    def oldest(self) -> Entry | None:
        entry = self._end.newer
        return None if entry is self._end else entry

    def renew(self, entry: Entry) -> None:
        """Make a linked or a new entry the most recent one."""
        entry.unlink()
        entry.link_after(self._end.older)

    def __iter__(self) -> Iterator[Entry]:
        entry = self._end.newer
        while entry is not self._end:
            following = entry.newer
            yield entry
            entry = following
