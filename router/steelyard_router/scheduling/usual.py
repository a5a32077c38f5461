"""How long a workload's requests usually wait for the first token, and between tokens.

What is usual is (mean of square roots)^2: between the mean, which a few prompts of a minute move,
and the median, which does not know of them. Kept per workload, since what is usual for a chat is
not for a batch; policies name the workloads, so there are few.

TPOT is by the tokens that a stream was told to have, every 32 or so, at its end: some are missing
then, so that it comes out up to twice too high, the more so the shorter the replies are. The
constants of objective.py were found with it.
"""

from collections import OrderedDict
from math import sqrt
from typing import Final, NamedTuple

MEMORY: Final = 512
"""Requests that a mean is of, about;"""
PRIOR_COUNT: Final = 8
"""and how many the prior is worth."""
KEPT: Final = 256
"""Names remembered; those of earlier policies go first."""
LEAST_S: Final = 1e-5


class Latency(NamedTuple):
    """Both above 0."""

    ttft_s: float
    tpot_s: float


PRIOR: Final = Latency(0.25, 0.0225)


class _Root:
    """Moving mean of square roots."""

    __slots__ = ("_count", "_root")

    def __init__(self, prior_s: float) -> None:
        self._root = sqrt(prior_s)
        self._count = PRIOR_COUNT

    @property
    def seconds(self) -> float:
        return self._root * self._root

    def learn(self, seconds: float) -> None:
        self._count = min(self._count + 1, MEMORY)
        self._root += (sqrt(max(LEAST_S, seconds)) - self._root) / self._count


class UsualLatency:
    """By workload; what is not known yet has PRIOR."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[_Root, _Root]] = OrderedDict()

    def of(self, workload: str) -> Latency:
        known = self._known.get(workload)
        return PRIOR if known is None else Latency(known[0].seconds, known[1].seconds)

    def learn_ttft(self, workload: str, seconds: float) -> None:
        self._roots(workload)[0].learn(seconds)

    def learn_tpot(self, workload: str, seconds: float) -> None:
        self._roots(workload)[1].learn(seconds)

    def _roots(self, workload: str) -> tuple[_Root, _Root]:
        known = self._known.get(workload)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.popitem(last=False)
            known = self._known[workload] = (_Root(PRIOR.ttft_s), _Root(PRIOR.tpot_s))
        return known
