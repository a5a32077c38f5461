"""What a second costs: of waiting for the first token, per output token, and to the end.

Each is weight / target, so a delay counts in units of the target that it eats into, and a target
that is absent costs nothing. A request without any target still wants its answer soon. It gets the
two defaults, which say how much waiting for the first token is worth a second more per output
token; their scale matters only beside requests that do have targets.
"""

from typing import Final, NamedTuple

from steelyard_router.scheduling.request import SLO, RequestView

DEFAULT: Final = SLO(ttft_s=1.0, tpot_s=0.02)
DEFAULT_OUTPUT_TOKENS: Final = 256.0
"""Of a request of which nothing is expected; as in analysis/history.py."""


class Rates(NamedTuple):
    """Cost of a second; 0 where there is no target."""

    ttft: float
    tpot: float
    e2e: float

    @classmethod
    def of(cls, request: RequestView) -> "Rates":
        slo, weights = request.slo, request.weights
        if slo.ttft_s is None and slo.tpot_s is None and slo.e2e_s is None:
            slo = DEFAULT
        return cls(
            weights.ttft / slo.ttft_s if slo.ttft_s else 0.0,
            weights.tpot / slo.tpot_s if slo.tpot_s else 0.0,
            weights.e2e / slo.e2e_s if slo.e2e_s else 0.0,
        )


def output_tokens(request: RequestView) -> float:
    """Expected of it, at least 1."""
    return max(1.0, request.expected_output_tokens or DEFAULT_OUTPUT_TOKENS)
