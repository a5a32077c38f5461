"""A real trace made small enough for a tiny model on one core: fewer users, shorter texts.

Of the recorded conversations (requests that share their second block: the first one, a system
prompt, is common to all of the trace) some are drawn, those of at least `turns` turns, and kept
whole and at their times. Every length is divided by a factor. Blocks of the trace are joined until
one stands for as many tokens as a block of the engine and of the router's index, so that engine,
router and simulation see the same beginnings in common: in the joined block's place stands the id
of its last part, which names the whole prompt up to there. A last block that is not full is never
reused, so that its id does not matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from steelyard_simulator.load.selection import at_rate, spread
from steelyard_simulator.load.trace import Trace, TraceRequest, to_ranges

SPREAD_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Scale:
    """`share` of the conversations of at least `turns` turns, drawn by `seed`; prompts and replies
    divided by `prompt` and `reply`; prompts of more than `longest` tokens are left out; `blocks` of
    the trace are one; times `speed` times as fast.
    """

    share: float
    turns: int
    prompt: int
    reply: int
    longest: int
    blocks: int
    speed: float
    seed: int = 1


def scaled(trace: Trace, scale: Scale) -> tuple[TraceRequest, ...]:
    """In the order of arrival, the first one at 0."""
    requests = trace.requests
    if trace.bucket_s is not None:
        requests = spread(requests, trace.bucket_s)
    chosen = sorted(_drawn(requests, scale), key=lambda request: request.at_s)
    small = [_small(request, scale) for request in chosen]
    kept = [request for request in small if request.input_tokens <= scale.longest]
    first_s = kept[0].at_s if kept else 0.0
    moved = [replace(request, at_s=request.at_s - first_s) for request in kept]
    return at_rate(moved, scale.speed)


def longer(requests: Sequence[TraceRequest], tokens: int) -> tuple[TraceRequest, ...]:
    """As the engine counts them: with what its chat template puts around each prompt."""
    return tuple(
        replace(request, input_tokens=request.input_tokens + tokens) for request in requests
    )


def reuse(requests: Sequence[TraceRequest], block_tokens: int) -> float:
    """Share of the prompt tokens that one cache without an end would hold already."""
    seen: set[int] = set()
    found = total = 0
    for request in requests:
        ids = list(request.block_ids())[: request.input_tokens // block_tokens]
        hits = next((place for place, one in enumerate(ids) if one not in seen), len(ids))
        found += min(hits, (request.input_tokens - 1) // block_tokens) * block_tokens
        total += request.input_tokens
        seen.update(ids)
    return found / total if total else 0.0


def _drawn(requests: Sequence[TraceRequest], scale: Scale) -> list[TraceRequest]:
    rng = Random(scale.seed)
    conversations = _conversations(requests).values()
    long = [one for one in conversations if len(one) >= scale.turns]
    return [request for one in long if rng.random() < scale.share for request in one]


def _conversations(requests: Sequence[TraceRequest]) -> Mapping[int, list[TraceRequest]]:
    """By their second block, in the order of their starts; prompts of one block are none."""
    found: dict[int, list[TraceRequest]] = {}
    for request in requests:
        ids = request.block_ids()
        next(ids, None)
        if (second := next(ids, None)) is not None:
            found.setdefault(second, []).append(request)
    return found


def _small(request: TraceRequest, scale: Scale) -> TraceRequest:
    ids = list(request.block_ids())
    whole = len(ids) // scale.blocks * scale.blocks
    joined = ids[scale.blocks - 1 : whole : scale.blocks] + ids[-1:] * (whole < len(ids))
    return replace(
        request,
        input_tokens=_divided(request.input_tokens, scale.prompt),
        output_tokens=_divided(request.output_tokens, scale.reply),
        blocks=to_ranges(joined),
    )


def _divided(tokens: int, by: int) -> int:
    """Rounded up, so that a last block keeps at least one token, and a reply too."""
    return max(1, -(-tokens // by))
