"""Work to prefill times requests beside it: the product needs no weight between the two.

(Q + P + offset)^a * (B + 1)^b. Q is in it because a hot instance would hide its backlog otherwise;
1 is added to B because all idle instances would cost 0. A factor would cancel in the argmin, so a
workload's weights can act only as exponents. Source: LMetric, arXiv 2603.15202.
"""

from typing import ClassVar, Self

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.request import Weights
from steelyard_router.scheduling.strategy.protocol import Settings


class Multiplicative:
    """cost = (Q + P + offset)^p_exponent * (B + 1)^b_exponent"""

    name: ClassVar[str] = "Multiplicative"
    wants_outlook: ClassVar[Wish] = Wish.NEVER

    def __init__(
        self, p_exponent: float = 1.0, b_exponent: float = 1.0, offset: float = 0.0
    ) -> None:
        self.p_exponent = p_exponent
        self.b_exponent = b_exponent
        self.offset = offset
        self._plain = p_exponent == b_exponent == 1.0

    @classmethod
    def build(cls, settings: Settings) -> Self:
        return cls(*_exponents(settings), settings.offset)

    def cost(self, terms: Terms) -> list[float]:
        offset, columns = self.offset, zip(terms.q, terms.p, terms.b, strict=True)
        if self._plain:
            return [(q + p + offset) * (b + 1.0) for q, p, b in columns]
        p_power, b_power = self.p_exponent, self.b_exponent
        return [(q + p + offset) ** p_power * (b + 1.0) ** b_power for q, p, b in columns]


def _exponents(settings: Settings) -> tuple[float, float]:
    """Those that are set; of what is not, b / p = TPOT weight / TTFT weight, since TTFT is a wait
    for prefills and TPOT is slowed by the requests alongside. Without weights, both are 1.
    """
    a, b, weights = settings.p_exponent, settings.b_exponent, settings.weights or Weights(1, 1, 0)
    if a is not None and b is not None:
        return a, b
    if a is not None:
        return a, a * weights.tpot / weights.ttft if weights.ttft else 1.0
    if b is not None:
        return b * weights.ttft / weights.tpot if weights.tpot else 1.0, b
    if weights.ttft:
        return 1.0, weights.tpot / weights.ttft
    return (0.0, 1.0) if weights.tpot else (1.0, 1.0)
