"""How many tokens a workload's answers have: the expected output of a request before it runs.

One moving mean per workload over finished requests, and never more than the request itself allows.
"""

PRIOR_TOKENS = 256.0
"""Until a workload has answered anything; chats in public traces average 200 to 350."""

_MEMORY = 64
_WORKLOADS = 256


class OutputHistory:
    """Learned per workload name; it outlives configuration reloads."""

    def __init__(self) -> None:
        self._means: dict[str, tuple[float, int]] = {}

    def expected(self, workload: str, limit: int | None) -> float:
        """Output tokens of one sequence, at least 1 because every answer holds one."""
        mean = self._means[workload][0] if workload in self._means else PRIOR_TOKENS
        return max(1.0, mean if limit is None else min(mean, float(limit)))

    def learn(self, workload: str, tokens: float) -> None:
        """Take in the output length of one finished sequence."""
        mean, count = self._means.pop(workload, (PRIOR_TOKENS, 0))
        count = min(count + 1, _MEMORY)
        if len(self._means) >= _WORKLOADS:  # names of workloads long gone: drop the stalest
            self._means.pop(next(iter(self._means)))
        self._means[workload] = (mean + (tokens - mean) / count, count)
