"""The five numbers that price a step of an engine with continuous batching.

A step computes some prompt tokens and one token for every decoding sequence, and takes

    base + prefill * prompt tokens + attention * pairs + sequence * sequences + context * context

where `pairs` sums how many tokens each prompt token attends to and `context` is what the decoding
sequences hold.
"""

from typing import Final, NamedTuple


class Coefficients(NamedTuple):
    """Seconds each; never negative."""

    base_s: float
    """A step, whatever is in it;"""
    prefill_s: float
    """more for each uncached prompt token,"""
    attention_s: float
    """each pair of a prompt token and a token that it attends to,"""
    sequence_s: float
    """each decoding sequence,"""
    context_s: float
    """and each token of context of those."""

    def prefill(self, tokens: float, pairs: float) -> float:
        return self.prefill_s * tokens + self.attention_s * pairs

    def decode(self, sequences: float, context: float) -> float:
        return self.base_s + self.sequence_s * sequences + self.context_s * context


PRIOR: Final = Coefficients(7e-3, 30e-6, 1.3e-9, 15e-6, 49e-9)
"""Until something is seen: arithmetic on data sheets for an 8B model on an H100."""


def attended(uncached_tokens: int, prompt_tokens: int) -> int:
    """Pairs of a prompt of which the last `uncached_tokens` are computed."""
    cached = prompt_tokens - uncached_tokens
    return uncached_tokens * cached + uncached_tokens * (uncached_tokens + 1) // 2
