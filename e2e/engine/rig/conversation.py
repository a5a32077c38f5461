"""A trace of conversations that share a system prompt, in Mooncake's schema.

All of them together need several times the cache of one engine, and those that run side by side
about two thirds of the caches of all: they fit as long as each stays at one place.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rig.stack import BLOCK_TOKENS, MAX_MODEL_TOKENS

OUTPUT_TOKENS = 32
TEMPLATE_TOKENS = 8
SEED = 1


@dataclass(frozen=True)
class Shape:
    """Lengths in tokens; ranges are drawn from evenly."""

    sessions: int = 24
    turns: int = 6
    side_by_side: int = 8
    system: int = 256
    opening: tuple[int, int] = (300, 700)
    step: tuple[int, int] = (60, 140)
    think_ms: tuple[int, int] = (200, 600)


def write_trace(path: Path, shape: Shape) -> None:
    lines = [json.dumps(record) for record in records(shape)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def records(shape: Shape) -> Iterator[dict[str, object]]:
    """One request each, session by session. A turn's prompt begins with all of the last one's."""
    rng = random.Random(SEED)
    shared = list(range(shape.system // BLOCK_TOKENS))
    for session in range(shape.sessions):
        first_id = (session + 1) * 1000
        length = shape.system + rng.randint(*shape.opening)
        at_ms = 0
        for _ in range(shape.turns):
            assert length + OUTPUT_TOKENS + TEMPLATE_TOKENS <= MAX_MODEL_TOKENS
            own = -(-length // BLOCK_TOKENS) - len(shared)
            yield {
                "timestamp": at_ms,
                "input_length": length,
                "output_length": OUTPUT_TOKENS,
                "hash_ids": [*shared, *range(first_id, first_id + own)],
                "session_id": f"session-{session}",
            }
            length += rng.randint(*shape.step)
            at_ms += rng.randint(*shape.think_ms)
