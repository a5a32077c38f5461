"""How much memory the prefix index takes, measured in a process that does nothing else.

`python -m steelyard_bench.footprint KIND BLOCKS HOLDERS` prints one JSON object. The figure is the
difference of the resident set before the index was filled and after.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from steelyard_bench.conversation import Conversations
from steelyard_router.scheduling.index import PrefixIndex
from steelyard_router.scheduling.request import HASH_BYTES

KINDS = ("conversations", "chats", "single")
"""Conversations of 32k tokens, chats of 1k tokens, unrelated prompts of one block: the last is the
worst that can be stored.
"""
UNLIMITED = 10**12
TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of `blocks` different blocks that `holders / blocks` instances hold each."""

    kind: str
    blocks: int
    holders: int
    rss_bytes: int
    estimated_bytes: int
    bytes_per_holder: float


def measure(kind: str, blocks: int, holders: int) -> Footprint:
    """In a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, kind, str(blocks), str(holders)],
        check=True,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    return Footprint(**json.loads(done.stdout))


def fill(kind: str, blocks: int, holders: int) -> Footprint:
    """In this process."""
    source, index = _source(kind), PrefixIndex(UNLIMITED)
    shelves = [index.open(slot) for slot in range(holders)]
    source()
    gc.collect()
    before = _rss_bytes()
    while index.block_count < blocks:
        prompt = source()
        for shelf in shelves:
            index.insert(shelf, index.lookup(prompt), UNLIMITED)
    taken = _rss_bytes() - before
    return Footprint(
        kind, index.block_count, index.holder_count, taken, index.bytes, taken / index.holder_count
    )


def _source(kind: str) -> Callable[[], bytes]:
    rng = np.random.default_rng(1)
    if kind == "single":
        return lambda: rng.bytes(HASH_BYTES)
    return Conversations(rng, blocks=16 if kind == "chats" else 512, open_count=64).next


def _rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    found = fill(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(asdict(found)))
