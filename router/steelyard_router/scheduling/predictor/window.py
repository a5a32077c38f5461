"""From the events of one instance to observations of what its steps cost.

A stream that decodes gets one token per step, so its tokens count the steps, and between two of
them everything the instance did is known: how many sequences decoded, with how much context, and
which prompts were computed. One stream at a time is followed, from a moment at which it is known
how far the prompt at the head of the line has come to another such moment.

A prompt that is computed on an otherwise idle instance is an observation too, by itself.

Nothing is learned across the end of a request that was not answered: how much of its prompt the
engine had computed nobody knows.
"""

from typing import TYPE_CHECKING, Final

from steelyard_router.scheduling.predictor.protocol import Observation

if TYPE_CHECKING:
    from steelyard_router.scheduling.lease import Lease
    from steelyard_router.scheduling.ledger import Account

LEAST_STEPS: Final = 16
LEAST_S: Final = 0.25
MOST_S: Final = 120.0
"""Between the two ends."""
VAGUE: Final = 0.15
"""Share of the time that the prompt at the head may have been computed for, at either end: how far
it has come is a guess.
"""
ALONE_TOKENS: Final = 512
"""Uncached tokens from which on a prompt by itself tells more than the network's delay."""
CHUNK_TOKENS: Final = 8192
"""Prompt tokens that engines compute in one step, when nothing else is known."""


class Window:
    """What has been seen since the followed stream's mark."""

    __slots__ = (
        "_context", "_context_steps", "_marked_at", "_pairs", "_probe", "_sequence_steps",
        "_sequences", "_steps", "_tokens", "_vague_s", "alone", "pairs", "prompts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.prompts = 0
        """Uncached tokens of all prompts computed so far,"""
        self.pairs = 0
        """and their pairs."""
        self.alone: Lease | None = None
        """The only request there, since it came."""
        self._probe: Lease | None = None
        self._marked_at = 0.0
        self._vague_s = 0.0
        self._tokens = self._pairs = 0.0
        self._steps = self._sequence_steps = self._context_steps = 0.0
        self._sequences = self._context = 0.0

    def arrive(self, lease: "Lease", *, idle: bool) -> None:
        self.alone = lease if idle else None

    def answer(self, lease: "Lease", account: "Account", now: float) -> Observation | None:
        """A prompt of a stream has been computed; to be told before its line moves."""
        if self.alone is not lease:
            return None
        self.alone = None
        tokens = lease.uncached_tokens
        if tokens < ALONE_TOKENS:
            return None
        steps = 1 + (tokens - 1) // CHUNK_TOKENS
        return Observation(now - account.since, steps, tokens, lease.pairs, 0, 0)

    def count(self, lease: "Lease") -> None:
        """Its prompt has left the line, computed."""
        self.prompts += lease.uncached_tokens
        self.pairs += lease.pairs

    def spoil(self) -> None:
        """Something has happened of which nobody knows how much work it was."""
        self._probe = self.alone = None

    def end(self, lease: "Lease") -> None:
        if self._probe is lease:
            self._probe = None

    def sample(
        self, lease: "Lease", grown: int, account: "Account", now: float
    ) -> Observation | None:
        """A decoding stream has `grown` tokens more."""
        if self._probe is not lease:
            if self._probe is None and lease.sequences == 1:
                self._mark(lease, account, now)
            return None
        sequences, context = self._sequences, self._context
        self._look(account)
        self._steps += grown
        self._sequence_steps += grown * (sequences + self._sequences) / 2
        self._context_steps += grown * (context + self._context) / 2
        seconds = now - self._marked_at
        if seconds < LEAST_S or self._steps < LEAST_STEPS:
            return None
        if seconds > MOST_S:
            self._mark(lease, account, now)
            return None
        vague_s = _vague_s(account, now)
        if max(vague_s, self._vague_s) > VAGUE * seconds:
            if vague_s < self._vague_s / 2:  # a better moment to begin at
                self._mark(lease, account, now)
            return None
        prompts, pairs = self._prefilled(account, now)
        seen = Observation(
            seconds,
            self._steps,
            max(0.0, prompts - self._tokens),
            max(0.0, pairs - self._pairs),
            self._sequence_steps,
            self._context_steps,
        )
        self._mark(lease, account, now)
        return seen

    def _mark(self, lease: "Lease", account: "Account", now: float) -> None:
        self._probe = lease
        self._marked_at = now
        self._vague_s = _vague_s(account, now)
        self._tokens, self._pairs = self._prefilled(account, now)
        self._steps = self._sequence_steps = self._context_steps = 0.0
        self._look(account)

    def _look(self, account: "Account") -> None:
        """Who decodes now; others, of whose context nothing is known, are taken to be like ours."""
        share = 1 + account.others / account.decoding
        self._sequences = account.decoding * share
        self._context = account.context * share

    def _prefilled(self, account: "Account", now: float) -> tuple[float, float]:
        """Tokens and pairs, with what is guessed of the prompt at the head."""
        if not account.head_tokens:
            return self.prompts, self.pairs
        share = min(1.0, account.rate * (now - account.since) / account.head_tokens)
        return (
            self.prompts + share * account.head_tokens,
            self.pairs + share * account.head_pairs,
        )


def _vague_s(account: "Account", now: float) -> float:
    """For how long the prompt at the head has been computed, as far as anyone knows."""
    return min(now - account.since, account.head_tokens / account.rate)
