"""What a decision may know about a request: sizes, hashes and targets, never its text."""

from dataclasses import dataclass, field

HASH_BYTES = 8
"""Bytes of one chained block hash inside `RequestView.blocks`."""


@dataclass(frozen=True, slots=True)
class SLO:
    """Targets in seconds; None takes no part in any cost."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How much a missed share of each target costs. No sum rule: an absent target takes no part."""

    ttft: float = 0.6
    tpot: float = 0.3
    e2e: float = 0.1


@dataclass(slots=True)
class RequestView:
    """One request as the scheduler sees it. Made once per request and never changed; not frozen,
    because a frozen dataclass takes three times as long to make.

    `blocks` holds one 8-byte little-endian hash per whole prompt block, each chained over all
    blocks before it, so equal hashes at one position mean equal prompts up to there. `block_tokens`
    is how many tokens one block stands for (learned from usage reports), so a hit of k blocks is
    worth min(k * block_tokens, prompt_tokens - 1) tokens: an engine always computes at least one
    token.
    """

    workload: str = "default"
    blocks: bytes = b""
    block_tokens: float = 64.0
    prompt_tokens: int = 1
    sequences: int = 1
    streams: bool = True
    expected_output_tokens: float | None = None
    """Of one sequence;"""
    most_output_tokens: float | None = None
    """and what nineteen of twenty such sequences do not exceed. None where not enough is known."""
    slo: SLO = field(default_factory=SLO)
    weights: Weights = field(default_factory=Weights)
    priority: int = 0
    session: str | None = None
    tenant: str | None = None

    @property
    def block_count(self) -> int:
        return len(self.blocks) // HASH_BYTES
