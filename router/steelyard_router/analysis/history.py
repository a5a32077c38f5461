"""How many tokens answers have: the expected output of a request before it runs, and the most that
nineteen in twenty of its kind have.

One moving mean per workload over finished requests, and one for each power of two of the prompt's
length: in some traffic long prompts are answered briefly. Few answers to prompts of that length
count little beside all of the workload's. A session whose answers are known has a mean of its own,
beside which the workload's counts as a few more of them: on recorded coding sessions that lowers
the mean error of the logarithm by 6 to 9 %. Never more than the request itself allows.
"""

from collections import OrderedDict
from dataclasses import dataclass

from steelyard_router.analysis.quantile import Upper

PRIOR_TOKENS = 256.0
"""Until a workload has answered anything; chats in public traces average 200 to 350."""
SESSIONS = 4096
"""Whose answers are remembered; those heard of longest ago are forgotten first."""

_MEMORY = 64
_ALL_COUNT = 8
"""Answers to prompts of one length that all of the workload's answers are worth."""
_SESSION_MEMORY = 8
_SESSION_COUNT = 4
"""Answers of a session that what is expected without it is worth."""
_WORKLOADS = 256


@dataclass(slots=True)
class _Mean:
    tokens: float = PRIOR_TOKENS
    count: int = 0

    def learn(self, tokens: float, memory: int = _MEMORY) -> None:
        if self.count < memory:
            self.count += 1
        self.tokens += (tokens - self.tokens) / self.count

    def beside(self, tokens: float, count: int) -> float:
        """Together with so many answers of which that is the mean."""
        return (self.tokens * self.count + tokens * count) / (self.count + count)


class _Kind:
    """Answers of one kind: their mean, and the most that most of them have."""

    __slots__ = ("mean", "upper")

    def __init__(self) -> None:
        self.mean = _Mean()
        self.upper = Upper()

    def learn(self, tokens: float) -> None:
        self.mean.learn(tokens)
        self.upper.learn(tokens)


class _Workload:
    """All answers, and those by length of their prompts."""

    __slots__ = ("every", "near")

    def __init__(self) -> None:
        self.every = _Kind()
        self.near: dict[int, _Kind] = {}

    def expected(self, prompt_tokens: int) -> float:
        near = self.near.get(prompt_tokens.bit_length())
        if near is None:
            return self.every.mean.tokens
        return near.mean.beside(self.every.mean.tokens, _ALL_COUNT)

    def most(self, prompt_tokens: int) -> float | None:
        near = self.near.get(prompt_tokens.bit_length())
        told = None if near is None else near.upper.tokens
        return self.every.upper.tokens if told is None else told

    def learn(self, prompt_tokens: int, tokens: float) -> None:
        self.every.learn(tokens)
        self.near.setdefault(prompt_tokens.bit_length(), _Kind()).learn(tokens)


class OutputHistory:
    """Learned per workload name; it outlives configuration reloads. Sessions are kept by a hash."""

    def __init__(self) -> None:
        self._workloads: dict[str, _Workload] = {}
        self._sessions: OrderedDict[tuple[str, int], _Mean] = OrderedDict()

    def expected(
        self, workload: str, prompt_tokens: int, limit: int | None, session: str | None = None
    ) -> float:
        """Output tokens of one sequence, at least 1 because every answer holds one."""
        known = self._workloads.get(workload)
        tokens = PRIOR_TOKENS if known is None else known.expected(prompt_tokens)
        if session is not None:
            own = self._sessions.get((workload, hash(session)))
            if own is not None:
                tokens = own.beside(tokens, _SESSION_COUNT)
        if limit is not None and limit < tokens:
            tokens = float(limit)
        return tokens if tokens > 1.0 else 1.0

    def most(self, workload: str, prompt_tokens: int, limit: int | None) -> float | None:
        """What nineteen of twenty sequences do not exceed, those with prompts of about that length
        if enough of them are known; None if not even enough of the workload's are.
        """
        known = self._workloads.get(workload)
        tokens = None if known is None else known.most(prompt_tokens)
        if tokens is None:
            return None
        return max(1.0, tokens if limit is None else min(tokens, limit))

    def learn(
        self, workload: str, prompt_tokens: int, tokens: float, session: str | None = None
    ) -> None:
        """Take in the output length of one finished sequence."""
        known = self._workloads.pop(workload, None)
        if known is None:
            known = _Workload()
            if len(self._workloads) >= _WORKLOADS:  # long gone: drop the stalest
                self._workloads.pop(next(iter(self._workloads)))
        self._workloads[workload] = known
        known.learn(prompt_tokens, tokens)
        if session is not None:
            self._learn_session((workload, hash(session)), tokens)

    def _learn_session(self, key: tuple[str, int], tokens: float) -> None:
        own = self._sessions.pop(key, None)
        if own is None:
            own = _Mean()
            if len(self._sessions) >= SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions[key] = own
        own.learn(tokens, _SESSION_MEMORY)
