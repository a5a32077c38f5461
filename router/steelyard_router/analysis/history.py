"""How many tokens a workload's answers have: the expected output of a request before it runs.

One moving mean per workload over finished requests, and never more than the request itself allows.
"""

from dataclasses import dataclass

PRIOR_TOKENS = 256.0
"""Until a workload has answered anything; chats in public traces average 200 to 350."""

_MEMORY = 64
_WORKLOADS = 256


@dataclass(slots=True)
class _Mean:
    tokens: float = PRIOR_TOKENS
    count: int = 0


class OutputHistory:
    """Learned per workload name; it outlives configuration reloads."""

    def __init__(self) -> None:
        self._means: dict[str, _Mean] = {}

    def expected(self, workload: str, limit: int | None) -> float:
        """Output tokens of one sequence, at least 1 because every answer holds one."""
        known = self._means.get(workload)
        tokens = PRIOR_TOKENS if known is None else known.tokens
        if limit is not None and limit < tokens:
            tokens = float(limit)
        return tokens if tokens > 1.0 else 1.0

    def learn(self, workload: str, tokens: float) -> None:
        """Take in the output length of one finished sequence."""
        known = self._means.pop(workload, None)
        if known is None:
            known = _Mean()
            if len(self._means) >= _WORKLOADS:  # names of workloads long gone: drop the stalest
                self._means.pop(next(iter(self._means)))
        self._means[workload] = known
        if known.count < _MEMORY:
            known.count += 1
        known.tokens += (tokens - known.tokens) / known.count
