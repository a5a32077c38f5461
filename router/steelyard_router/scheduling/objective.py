"""What a second costs: of waiting for the first token, per output token, and to the end.

Each is weight / target, so a delay counts in units of the target that it eats into, and a target
that is absent costs nothing. A request without any target still wants its answer soon: it is held
to what is usual for its workload (usual.py), so that its cost knows no unit. On slow hardware, or
with long prompts, a second is worth less.

A target, unlike what is usual, is met or missed. A request that is far on either side of it loses
little by some delay, and one that is near it may lose all, so what counts is the chance of missing
it (`worth`). Classes come apart by themselves then: an instance where a target is missed anyway is
where others do least harm, and one where it is met is kept for those who need it.
"""

from typing import Final, NamedTuple

from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.usual import Latency

DEFAULT_OUTPUT_TOKENS: Final = 256.0
"""Of a request of which nothing is expected; as in analysis/history.py."""
USUAL_TTFTS: Final = 8.0
"""The TTFT target of a request without targets, in usual ones; its TPOT target is one usual TPOT. A
first token is waited for once, and some prompts are many times as long as others; a slow token is
met at every token. At half of it mixed fleets have 6 % more TPOT, at twice of it small agents 2 %
more TTFT.
"""

SPREAD: Final = 0.5
"""Who is predicted to take 1 - SPREAD of a target will meet it, and who takes 1 + SPREAD will not:
prompts that nobody knows of yet come in between, more of them for one than for another.
"""
SLACK: Final = 0.3
"""What it costs to use a target up where that makes no difference to meeting it. With less, rare
misses are all that counts, and conversations whose targets nearly all are met lose by it: at a
third of it they need one instance more of 17. With more, classes come apart less (docs/placement).
"""


def has_targets(request: RequestView) -> bool:
    slo = request.slo
    return not (slo.ttft_s is None and slo.tpot_s is None and slo.e2e_s is None)


def worth(share: float) -> float:
    """What it costs to take so much of a target: about the chance of missing it."""
    missed = (share - 1.0) / (2.0 * SPREAD) + 0.5
    if missed <= 0.0:
        return SLACK * share
    return SLACK * share + (missed * missed * (3.0 - 2.0 * missed) if missed < 1.0 else 1.0)


def slope(share: float) -> float:
    """What taking a little more of a target costs, per target."""
    missed = (share - 1.0) / (2.0 * SPREAD) + 0.5
    if not 0.0 < missed < 1.0:
        return SLACK
    return SLACK + 3.0 * missed * (1.0 - missed) / SPREAD


class Rates(NamedTuple):
    """Cost of a second, by the share of a target that it is; 0 where there is no target."""

    ttft: float
    tpot: float
    e2e: float

    @classmethod
    def of(cls, request: RequestView, usual: Latency) -> "Rates":
        slo, weights = request.slo, request.weights
        if not has_targets(request):
            slo = SLO(ttft_s=USUAL_TTFTS * usual.ttft_s, tpot_s=usual.tpot_s)
        return cls(
            weights.ttft / slo.ttft_s if slo.ttft_s else 0.0,
            weights.tpot / slo.tpot_s if slo.tpot_s else 0.0,
            weights.e2e / slo.e2e_s if slo.e2e_s else 0.0,
        )


def output_tokens(request: RequestView) -> float:
    """Expected of it, at least 1."""
    return max(1.0, request.expected_output_tokens or DEFAULT_OUTPUT_TOKENS)


def harm(request: RequestView, rates: Rates) -> float:
    """What a delay of one second costs a request that decodes: it spreads over its tokens."""
    return request.sequences * (rates.tpot / output_tokens(request) + rates.e2e)
