"""A trace: what was asked, when, and which prompts share a beginning. No text, no clock.

Every schema (schema.py finds out which) is turned into the same value, so that the replay knows one
kind of request. Block ids are kept as ranges, because a conversation appends runs of new ids to the
ids of its last turn: 46,000 requests of 118,000 tokens fit in a few megabytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

BLOCK_TOKENS = 512
"""Tokens one id of Mooncake's `hash_ids` stands for."""
WORKLOAD = "default"
"""Of a request whose trace names none."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """One request.

    `at_s` counts from the start of the trace, or of the session where the trace knows no common
    clock. `blocks` are the ids of the prompt's blocks in order: equal ids at the head of two
    prompts of one `scope` mean equal text; what the ids do not cover is unique. `follows` is the
    index, in the same trace and always smaller than this request's own, of the request whose reply
    a client waits for before it sends this one, `think_s` the pause it then makes.
    """

    at_s: float
    input_tokens: int
    output_tokens: int
    blocks: tuple[range, ...] = ()
    scope: str = ""
    session: str | None = None
    follows: int | None = None
    think_s: float = 0.0
    workload: str = WORKLOAD

    def block_ids(self) -> Iterator[int]:
        return chain.from_iterable(self.blocks)


@dataclass(frozen=True, slots=True)
class Trace:
    """All requests of a file, and what the file says about itself."""

    path: Path
    schema: str
    requests: tuple[TraceRequest, ...]
    block_tokens: int = BLOCK_TOKENS
    bucket_s: float | None = None
    """Width of the steps that the recorded times were rounded to; None: they were not."""
    closed_loop: bool = False
    """True where sessions have no common clock, so that only a replay by think time makes sense."""


def to_ranges(ids: list[int]) -> tuple[range, ...]:
    """[0, 7, 8, 9] -> (range(0, 1), range(7, 10))."""
    runs: list[range] = []
    first = last = None
    for value in ids:
        if first is not None and last is not None and value == last + 1:
            last = value
            continue
        if first is not None and last is not None:
            runs.append(range(first, last + 1))
        first = last = value
    if first is not None and last is not None:
        runs.append(range(first, last + 1))
    return tuple(runs)


def append_range(runs: tuple[range, ...], new: range) -> tuple[range, ...]:
    """`runs` with `new` behind them, joined where they touch."""
    if not new:
        return runs
    if runs and runs[-1].stop == new.start:
        return (*runs[:-1], range(runs[-1].start, new.stop))
    return (*runs, new)


def take(runs: tuple[range, ...], count: int) -> tuple[range, ...]:
    """The first `count` ids."""
    kept: list[range] = []
    for run in runs:
        if count <= 0:
            break
        kept.append(run[:count])
        count -= len(run)
    return tuple(kept)
