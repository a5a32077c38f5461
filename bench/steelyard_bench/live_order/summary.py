"""What a cell comes to, from what clients saw. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard_bench.live_order.load import KINDS, Kind, kind_of
from steelyard_bench.live_order.target import Targets
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.summary import Spread
from steelyard_simulator.load.trace import TraceRequest

ALL = "all"


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one class, or of all. Latencies are those of answered requests, `longest_wait_s` for a
    first token; `rejected` had another status than 200, `failed` broke off.
    """

    requests: int
    met: int
    rejected: int
    failed: int
    unanswered: int
    ttft_ms: Spread
    e2e_ms: Spread
    longest_wait_s: float

    @property
    def attainment(self) -> float:
        """Of all requests, answered or not."""
        return self.met / self.requests if self.requests else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "met": self.met,
            "attainment": round(self.attainment, 4),
            "rejected": self.rejected,
            "failed": self.failed,
            "unanswered": self.unanswered,
            "ttft_ms": self.ttft_ms.to_dict(),
            "e2e_ms": self.e2e_ms.to_dict(),
            "longest_wait_s": round(self.longest_wait_s, 3),
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """`served_per_s` is what the engines did until the last of the replies; `lag_ms` how much later
    than planned requests were sent."""

    classes: dict[str, Figures]
    served_per_s: float
    lag_ms: Spread

    def to_dict(self) -> dict[str, Any]:
        return {
            "classes": {name: figures.to_dict() for name, figures in self.classes.items()},
            "served_per_s": round(self.served_per_s, 3),
            "lag_ms": self.lag_ms.to_dict(),
        }


def summarise(
    asked: Sequence[TraceRequest], found: Sequence[Measurement], targets: Targets
) -> Summary:
    """`found` lacks those of `asked` that had no answer when nobody waited any more."""
    classes = {kind.name: _figures([kind], asked, found, targets) for kind in KINDS}
    classes[ALL] = _figures(KINDS, asked, found, targets)
    ends_s = [one.at_s + one.e2e_s for one in found if one.e2e_s is not None]
    return Summary(
        classes=classes,
        served_per_s=len(ends_s) / max(ends_s) if ends_s else 0.0,
        lag_ms=Spread.of([1000 * one.lag_s for one in found]),
    )


def _figures(
    kinds: Sequence[Kind],
    asked: Sequence[TraceRequest],
    found: Sequence[Measurement],
    targets: Targets,
) -> Figures:
    requests = sum(kind_of(one.input_tokens) in kinds for one in asked)
    own = [one for one in found if kind_of(one.input_tokens) in kinds]
    broken = [one for one in own if one.error is not None]
    rejected = sum(one.status not in {0, 200} for one in broken)
    waits_s = [one.ttft_s for one in own if one.ttft_s is not None]
    return Figures(
        requests=requests,
        met=sum(targets.met(kind_of(one.input_tokens), one) for one in own),
        rejected=rejected,
        failed=len(broken) - rejected,
        unanswered=requests - len(own),
        ttft_ms=Spread.of([1000 * wait_s for wait_s in waits_s]),
        e2e_ms=Spread.of([1000 * one.e2e_s for one in own if one.e2e_s is not None]),
        longest_wait_s=max(waits_s, default=0.0),
    )
