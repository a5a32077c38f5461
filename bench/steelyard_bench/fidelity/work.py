"""What an engine computes for a request, in the units that a step's cost is made of. Pure.

The same arithmetic as the simulated engine's: prompts in chunks of what a step may hold, each token
attending to all before it and to itself; a decoding sequence holds its prompt and all generated
tokens, the newest included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Work(NamedTuple):
    """Amounts; the costs of one each are the unknowns of a fit, in this order."""

    requests: float = 0
    """First tokens waited for: what a request takes outside of steps."""
    steps: float = 0
    prefill_tokens: float = 0
    pairs: float = 0
    sequences: float = 0
    """Summed over the steps, as the context is."""
    context_tokens: float = 0


class Costs(NamedTuple):
    """Seconds for one of each amount of Work, in its order."""

    overhead_s: float
    base_s: float
    per_prefill_token_s: float
    attention_s: float
    per_sequence_s: float
    per_context_token_s: float

    def of(self, work: Work) -> float:
        return sum(cost * amount for cost, amount in zip(self, work, strict=True))


@dataclass(frozen=True, slots=True)
class Observation:
    """So many seconds for this work; `kind` groups them for people."""

    kind: str
    work: Work
    seconds: float


def first_token(prompt_tokens: int, cached_tokens: int, *, step_tokens: int) -> Work:
    """Of a prompt alone on the engine, whose first `cached_tokens` are in its cache."""
    new = prompt_tokens - cached_tokens
    pairs = (prompt_tokens * (prompt_tokens + 1) - cached_tokens * (cached_tokens + 1)) // 2
    return Work(requests=1, steps=-(-new // step_tokens), prefill_tokens=new, pairs=pairs)


def decoding(steps: int, contexts: Sequence[float]) -> Work:
    """So many steps of sequences that hold `contexts` tokens in the first of them."""
    growth = steps * (steps - 1) / 2
    return Work(
        steps=steps,
        sequences=steps * len(contexts),
        context_tokens=steps * sum(contexts) + growth * len(contexts),
    )
