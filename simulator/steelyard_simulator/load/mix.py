"""Made loads of several workloads: Poisson arrivals, lengths drawn from recorded requests.

No two prompts have anything in common. The seed decides everything, and the n-th request is the
same at every rate, only sooner or later, so that rates can be compared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, count, takewhile
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Final

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.length import lengths
from steelyard_simulator.load.trace import Trace, TraceRequest


@dataclass(frozen=True, slots=True)
class Part:
    """One workload of a mix. `share` of all requests; `lengths` names a table of length.py."""

    workload: str
    share: float
    lengths: str
    slo: SLO
    output_cap: int | None = None

    def request(self, at_s: float, rng: Random) -> TraceRequest:
        prompt, reply = rng.choice(lengths(self.lengths))
        return TraceRequest(
            at_s=at_s,
            input_tokens=prompt,
            output_tokens=reply if self.output_cap is None else min(reply, self.output_cap),
            workload=self.workload,
        )


MIXES: Final[Mapping[str, tuple[Part, ...]]] = MappingProxyType(
    {
        "slo": (
            Part("chat", 0.5, "azure_conversation", SLO(ttft_s=0.5, tpot_s=0.03)),
            Part("code", 0.25, "azure_code", SLO(ttft_s=1.0, tpot_s=0.06)),
            Part("batch", 0.25, "servegen", SLO(e2e_s=60.0), output_cap=4000),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Mix:
    """A name in MIXES at a rate."""

    name: str
    rate_per_s: float
    duration_s: float = 600.0

    @property
    def slos(self) -> Mapping[str, SLO]:
        return {part.workload: part.slo for part in MIXES[self.name]}

    def draw(self, seed: int) -> Trace:
        """Requests until the duration is over."""
        parts = MIXES[self.name]
        bounds = list(accumulate(part.share for part in parts))
        rng = Random(f"{self.name}/requests/{seed}")
        requests = tuple(
            rng.choices(parts, cum_weights=bounds)[0].request(at_s, rng)
            for at_s in takewhile(lambda at_s: at_s < self.duration_s, self._arrivals(seed))
        )
        return Trace(Path(self.name), "mix", requests)

    def _arrivals(self, seed: int) -> Iterator[float]:
        rng = Random(f"{self.name}/arrivals/{seed}")
        return accumulate(rng.expovariate(1.0) / self.rate_per_s for _ in count())
