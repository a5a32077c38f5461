"""A radix tree over chained block hashes: which runs of blocks are known, each stored once.

A chained hash names its whole prefix. So a node is found by the first hash of its run, in one
dictionary for the whole tree (no lists of children, no parents), a run is compared in one memcmp,
and the block where two prompts part is found by bisection. A node is a leaf until it is split, and
a leaf grows in place.

Hashes that do not chain (64-bit collisions, which somebody may forge) make wrong matches, nothing
worse: a node is only ever registered under a hash that is free.
"""

from steelyard_router.scheduling.request import HASH_BYTES
from steelyard_router.scheduling.shelf import Entry, Node


class Tree:
    """Nodes by the first hash of their run."""

    def __init__(self) -> None:
        self._nodes: dict[bytes, Node] = {}
        self.block_count = 0

    def __len__(self) -> int:
        return len(self._nodes)

    def walk(self, blocks: bytes) -> tuple[list[Node], int]:
        """The nodes along a prompt and how many of its blocks they know, in the last one perhaps
        only the first few.
        """
        path: list[Node] = []
        nodes, size, position = self._nodes, len(blocks), 0
        while position < size:
            node = nodes.get(blocks[position : position + HASH_BYTES])
            if node is None or node.start * HASH_BYTES != position:
                break
            path.append(node)
            if not blocks.startswith(node.run, position):
                position += _common(node.run, blocks, position)
                break
            position += len(node.run)
        return path, position // HASH_BYTES

    def add(self, run: bytes, start: int, *, leaf: bool = True) -> Node | None:
        """A new node; None if its first hash is taken."""
        key = run[:HASH_BYTES]
        if key in self._nodes:
            return None
        node = self._nodes[key] = Node(run, start, leaf=leaf)
        self.block_count += node.length
        return node

    def extend(self, leaf: Node, run: bytes) -> None:
        leaf.run += run
        self.block_count += len(run) // HASH_BYTES

    def split(self, node: Node, at: int) -> Node | None:
        """Cut a node after `at` of its blocks. Returns the earlier part, which is new; the given
        node becomes the later part. Who held both holds both, the earlier just more recently.

        None if the first hash of the later part is taken.
        """
        run, cut = node.run, at * HASH_BYTES
        key = run[cut : cut + HASH_BYTES]
        if key in self._nodes:
            return None
        upper = Node(run[:cut], node.start, leaf=False)
        self._nodes[run[:HASH_BYTES]], self._nodes[key] = upper, node
        node.run = run[cut:]
        node.start += at
        everyone, node.holders = node.holders, {}
        for slot, entry in everyone.items():
            if entry.held <= at:
                entry.node = upper
                upper.holders[slot] = entry
            else:
                upper.holders[slot] = twin = Entry(upper, at, entry.stamp)
                twin.link_after(entry)
                entry.held -= at
                node.holders[slot] = entry
        return upper

    def trim(self, node: Node, length: int) -> None:
        """Cut off blocks that nobody holds. So nobody holds what follows: the node is a leaf."""
        self.block_count -= node.length - length
        node.run = node.run[: length * HASH_BYTES]
        node.leaf = True

    def remove(self, node: Node) -> None:
        self.block_count -= node.length
        del self._nodes[node.run[:HASH_BYTES]]


def _common(run: bytes, blocks: bytes, position: int) -> int:
    """Bytes of `run` that stand at `position` of `blocks`, in whole blocks; the first one does.

    Chained hashes that differ once differ ever after, so bisection finds the place.
    """
    same, limit = 1, len(run) // HASH_BYTES + 1
    while limit - same > 1:
        middle = (same + limit) // 2
        last = (middle - 1) * HASH_BYTES
        if run[last : last + HASH_BYTES] == blocks[position + last : position + last + HASH_BYTES]:
            same = middle
        else:
            limit = middle
    return same * HASH_BYTES
