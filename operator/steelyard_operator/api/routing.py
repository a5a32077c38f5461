"""How an instance is chosen for a request."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Count, Int, Model, Positive

StrategyName = Literal[
    "Auto", "Multiplicative", "Adaptive", "MarginalDelay", "LeastRequest", "RoundRobin"
]
ExponentPercent = Annotated[Int, Field(ge=0, le=1000)]


class Routing(Model):
    """Exponents absent: their ratio follows the tpot / ttft weight."""

    strategy: StrategyName | None = None
    p_token_exponent_percent: ExponentPercent | None = None
    batch_size_exponent_percent: ExponentPercent | None = None
    p_token_offset: Count | None = None
    max_p_tokens: Positive | None = None
