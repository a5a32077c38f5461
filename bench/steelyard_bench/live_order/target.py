"""What the two classes expect, in multiples of what a request takes. Pure."""

from dataclasses import dataclass
from typing import Any, Final, Self

from steelyard_bench.live_order.load import STRICT, Kind
from steelyard_simulator.load.measurement import Measurement

STRICT_TIMES: Final = 2.0
LOOSE_TIMES: Final = 10.0


@dataclass(frozen=True, slots=True)
class Targets:
    """The strict class wants its first token, the loose one its last."""

    strict_ttft_s: float
    loose_e2e_s: float

    @classmethod
    def of(cls, service_s: float) -> Self:
        """`service_s` is what a request of the mix takes in an engine that is full."""
        return cls(round(STRICT_TIMES * service_s, 3), round(LOOSE_TIMES * service_s, 3))

    def section(self, kind: Kind) -> dict[str, Any]:
        """As a workload's `slo` has it."""
        if kind is STRICT:
            return {"ttft_ms": round(1000 * self.strict_ttft_s)}
        return {"e2e_ms": round(1000 * self.loose_e2e_s)}

    def met(self, kind: Kind, one: Measurement) -> bool:
        """What failed has met nothing."""
        took_s, most_s = (
            (one.ttft_s, self.strict_ttft_s) if kind is STRICT else (one.e2e_s, self.loose_e2e_s)
        )
        return one.error is None and took_s is not None and took_s <= most_s
