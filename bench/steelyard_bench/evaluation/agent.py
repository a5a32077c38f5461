"""A made load of small agents: short prompts behind long shared system prompts, in bursts.

Nothing of it was recorded. A job picks a kind of agent and starts several calls of it at once; each
call goes on for a few steps, and a step's prompt is the one before it with the reply and a tool's
answer behind it. Kinds differ in how often they are wanted, so some system prompts are hot. The
same seed makes the same trace.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from steelyard_simulator.load.trace import Trace, TraceRequest

SEED: Final = 7
SPAN_S: Final = 120.0
BLOCK_TOKENS: Final = 64
SYSTEM_TOKENS: Final = (12_288, 8_192, 8_192, 6_144, 4_096, 4_096, 3_072, 2_048)
"""Of the kinds, the most wanted one first;"""
WANTED: Final = (30, 20, 15, 10, 10, 5, 5, 5)
"""and how often each is."""
JOBS_PER_S: Final = 2.3
CALLS: Final = (4, 24)
STEPS: Final = (1, 6)
USER_TOKENS: Final = (60, 400)
TOOL_TOKENS: Final = (100, 800)
OUTPUT_TOKENS: Final = (20, 120)
PAUSE_S: Final = (2.0, 8.0)
"""From one step's start to the next: open loop."""
ROOM: Final = 1 << 20
"""Ids of blocks that one call may use for itself."""


def small_agents(span_s: float = SPAN_S) -> Trace:
    """In the order of arrival."""
    requests = sorted(_requests(Random(SEED), span_s), key=lambda request: request.at_s)
    return Trace(
        path=Path("small-agents"),
        schema="made",
        requests=tuple(requests),
        block_tokens=BLOCK_TOKENS,
    )


def _requests(rng: Random, span_s: float) -> Iterator[TraceRequest]:
    at_s, call = 0.0, 0
    while (at_s := at_s + rng.expovariate(JOBS_PER_S)) < span_s:
        (kind,) = rng.choices(range(len(SYSTEM_TOKENS)), WANTED)
        for _ in range(rng.randint(*CALLS)):
            call += 1
            yield from _steps(rng, at_s, kind, call)


def _steps(rng: Random, at_s: float, kind: int, call: int) -> Iterator[TraceRequest]:
    system = SYSTEM_TOKENS[kind]
    shared = range(kind * ROOM, kind * ROOM + system // BLOCK_TOKENS)
    own = (len(SYSTEM_TOKENS) + call) * ROOM
    tokens = system + rng.randint(*USER_TOKENS)
    for _ in range(rng.randint(*STEPS)):
        output = rng.randint(*OUTPUT_TOKENS)
        blocks = (tokens - system) // BLOCK_TOKENS
        yield TraceRequest(
            at_s=at_s,
            input_tokens=tokens,
            output_tokens=output,
            blocks=(shared, range(own, own + blocks)),
            session=f"call-{call}",
        )
        tokens += output + rng.randint(*TOOL_TOKENS)
        at_s += rng.uniform(*PAUSE_S)


def burst(requests: int, prompt_tokens: int, output_tokens: int) -> Trace:
    """So many equal requests at once."""
    blocks = (range(prompt_tokens // BLOCK_TOKENS),)
    one = TraceRequest(
        at_s=0.0, input_tokens=prompt_tokens, output_tokens=output_tokens, blocks=blocks
    )
    return Trace(
        path=Path("burst"), schema="made", requests=(one,) * requests, block_tokens=BLOCK_TOKENS
    )
