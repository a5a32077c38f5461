"""How many tokens a workload's answers have: the expected output of a request before it runs.

One moving mean per workload over finished requests, and one for each power of two of the prompt's
length: in some traffic long prompts are answered briefly. Few answers to prompts of that length
count little beside all of the workload's. Never more than the request itself allows.
"""

from dataclasses import dataclass

PRIOR_TOKENS = 256.0
"""Until a workload has answered anything; chats in public traces average 200 to 350."""

_MEMORY = 64
_ALL_COUNT = 8
"""Answers to prompts of one length that all of the workload's answers are worth."""
_WORKLOADS = 256


@dataclass(slots=True)
class _Mean:
    tokens: float = PRIOR_TOKENS
    count: int = 0

    def learn(self, tokens: float) -> None:
        if self.count < _MEMORY:
            self.count += 1
        self.tokens += (tokens - self.tokens) / self.count


class _Workload:
    """All answers, and those by length of their prompts."""

    __slots__ = ("every", "near")

    def __init__(self) -> None:
        self.every = _Mean()
        self.near: dict[int, _Mean] = {}

    def expected(self, prompt_tokens: int) -> float:
        near = self.near.get(prompt_tokens.bit_length())
        if near is None:
            return self.every.tokens
        told = near.tokens * near.count + self.every.tokens * _ALL_COUNT
        return told / (near.count + _ALL_COUNT)


class OutputHistory:
    """Learned per workload name; it outlives configuration reloads."""

    def __init__(self) -> None:
        self._workloads: dict[str, _Workload] = {}

    def expected(self, workload: str, prompt_tokens: int, limit: int | None) -> float:
        """Output tokens of one sequence, at least 1 because every answer holds one."""
        known = self._workloads.get(workload)
        tokens = PRIOR_TOKENS if known is None else known.expected(prompt_tokens)
        if limit is not None and limit < tokens:
            tokens = float(limit)
        return tokens if tokens > 1.0 else 1.0

    def learn(self, workload: str, prompt_tokens: int, tokens: float) -> None:
        """Take in the output length of one finished sequence."""
        known = self._workloads.pop(workload, None)
        if known is None:
            known = _Workload()
            if len(self._workloads) >= _WORKLOADS:  # long gone: drop the stalest
                self._workloads.pop(next(iter(self._workloads)))
        self._workloads[workload] = known
        known.every.learn(tokens)
        known.near.setdefault(prompt_tokens.bit_length(), _Mean()).learn(tokens)
