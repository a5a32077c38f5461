"""The cells of the benchmark: one kind of load each, and the request bodies that make it."""

import random
from dataclasses import dataclass

import orjson

from steelyard_bench.wire.reply import MODEL, pace_field

BODIES = 64
"""Different prompts in a cell: few enough to be cached, enough to be told apart."""
GROUPS = 8
"""Prompts of one group share their first half, as requests of one application do."""
WORDS = 2000
SEED = 7


@dataclass(frozen=True, slots=True)
class Request:
    """A chat completion to ask for, and the tokens it will have."""

    body: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of load."""

    name: str
    connections: int
    prompt_bytes: int = 1024
    streams: bool = False
    tokens: tuple[int, int] = (16, 16)
    """Output tokens, least and most; in a stream each is a chunk."""
    pace_ms: float = 0.0
    """Time between two chunks of a stream; 0: all at once."""

    def requests(self) -> list[Request]:
        """What is sent, in turn."""
        rng = random.Random(SEED)
        tokens = [rng.randint(*self.tokens) for _ in range(BODIES)]
        return [
            Request(self._body(prompt, count), count)
            for prompt, count in zip(prompts(BODIES, self.prompt_bytes), tokens, strict=True)
        ]

    def _body(self, prompt: str, tokens: int) -> bytes:
        fields: dict[str, object] = {
            "model": MODEL,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": tokens,
        }
        if self.streams:
            fields["stream"] = True
        if self.pace_ms:
            fields.update(pace_field(self.pace_ms))
        return orjson.dumps(fields)


CELLS = (
    Cell("plain-c1", connections=1),
    Cell("plain-c32", connections=32),
    Cell("stream-c1", connections=1, streams=True),
    Cell("stream-c32", connections=32, streams=True),
    Cell("paced-100", connections=100, streams=True, tokens=(16, 50), pace_ms=20.0),
    Cell("plain-32kB", connections=8, prompt_bytes=32 * 1024),
)


def prompts(count: int, size: int) -> list[str]:
    """Texts of `size` bytes, in groups that share their first half."""
    rng = random.Random(SEED)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(WORDS)]
    shared = [" ".join(rng.choices(words, k=size // 14 + 1))[: size // 2] for _ in range(GROUPS)]
    return [
        (shared[index % GROUPS] + " ".join(rng.choices(words, k=size // 7 + 1)))[:size]
        for index in range(count)
    ]
