"""A request's claim on an instance, from the decision until its end, whatever that end is."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from steelyard_router.scheduling.predictor.coefficients import attended
from steelyard_router.scheduling.stake import Stake

if TYPE_CHECKING:
    from steelyard_router.scheduling.index import PrefixIndex, Trail
    from steelyard_router.scheduling.ledger import Account, Ledger

TOLERANCE: Final = 1 / 8
"""Share of a predicted hit that may be missing before it counts: tokens per byte vary within a
prompt.
"""


class Phase(StrEnum):
    """Waiting behind older prompts, oldest of those being computed, producing tokens, over."""

    QUEUED = "queued"
    PREFILL = "prefill"
    DECODE = "decode"
    RELEASED = "released"


@dataclass(slots=True, eq=False, kw_only=True)
class Lease:
    """Counts in the ledger until it is released, which happens once; later calls change no load.

    The fields are for the ledger; others read `instance` and `phase` and call the methods.
    """

    instance: str
    ledger: "Ledger"
    index: "PrefixIndex"
    account: "Account"
    trail: "Trail"
    prompt_tokens: int
    uncached_tokens: int
    block_tokens: float
    sequences: int
    streams: bool
    taken_s: float = 0.0
    harm: int = 0
    """What a second's delay of it costs (objective.py), in HARM_UNIT: a whole number, so that what
    it adds to a sum is taken away exactly. 0 where it has targets:"""
    stakes: tuple[Stake, ...] = ()
    """then this is what it may lose."""
    workload: str = "default"
    tenant: str | None = None
    left: int = 0
    """Output tokens that are expected and have not come, of all its sequences."""
    kv: int = 0
    """Tokens of KV memory that its account counts for it by now."""
    output_tokens: int = 0
    phase: Phase = Phase.QUEUED
    expected_s: float | None = None
    """When its first byte should come, by the engine's steps alone (forecast.py);"""
    first_s: float | None = None
    """when it came."""
    pairs: int = field(init=False)
    """Of tokens of the prompt that attend to each other, where one has to be computed."""

    def __post_init__(self) -> None:
        self.pairs = attended(self.uncached_tokens, self.prompt_tokens)

    def first_byte(self, now: float) -> None:
        """The instance has begun to answer with success: the prompt is computed."""
        if self.phase in {Phase.QUEUED, Phase.PREFILL}:
            self.ledger.answer(self, now)

    def progress(self, output_tokens: int, now: float | None = None) -> None:
        """So many output tokens have come, in total; the last of them now, if a time is given."""
        grown = output_tokens - self.output_tokens
        self.output_tokens = output_tokens
        if self.phase is Phase.DECODE:
            self.ledger.lengthen(self, grown, now)

    def correct(self, cached_tokens: int, *, prompt_tokens: int | None = None) -> None:
        """The instance reports how much of the prompt it had cached; the index learns from a
        shortfall.

        `prompt_tokens` is the true length, if it was reported: it tells an eviction from a wrong
        estimate of tokens per byte.
        """
        scale = (prompt_tokens or self.prompt_tokens) / self.prompt_tokens
        block_tokens = self.block_tokens * scale
        expected = self.trail.hit * block_tokens
        if expected - cached_tokens >= max(block_tokens, TOLERANCE * expected):
            self.index.disprove(self.trail, int(cached_tokens / block_tokens))

    def release(self, now: float, *, served: bool = True) -> None:
        """End the claim, once. Not `served`: the instance never computed the prompt (it refused the
        connection, failed, was given up before its first byte), so its cache does not hold it.
        """
        if self.phase is Phase.RELEASED:
            return
        self.ledger.release(self, now)
        if not served:
            self.index.retract(self.trail)
