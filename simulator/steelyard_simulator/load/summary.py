"""The table of a replay: latencies, hit ratio, errors, goodput. Pure.

With `time_scale` S (engines that run S times as fast as the hardware they model) every time is
given in model time: wall time times S. Latencies count successful requests only; errors are counted
by kind.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard_simulator.load.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and percentiles of one latency in milliseconds; None: nothing was measured."""

    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None

    @classmethod
    def of(cls, values_ms: Sequence[float]) -> "Spread":
        if not values_ms:
            return cls()
        p50, p90, p99 = (float(value) for value in np.percentile(values_ms, (50, 90, 99)))
        return cls(mean=float(np.mean(values_ms)), p50=p50, p90=p90, p99=p99)

    def values(self) -> tuple[float | None, float | None, float | None, float | None]:
        return (self.mean, self.p50, self.p90, self.p99)

    def to_dict(self) -> dict[str, float | None]:
        return {
            name: None if value is None else round(value, 3)
            for name, value in zip(("mean", "p50", "p90", "p99"), self.values(), strict=True)
        }


@dataclass(frozen=True, slots=True)
class Objective:
    """The SLO for goodput, in the time that is reported; an absent target is met."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None

    @property
    def given(self) -> bool:
        return self.ttft_ms is not None or self.tpot_ms is not None

    def met(self, ttft_ms: float, tpot_ms: float | None) -> bool:
        """A reply of one token has no TPOT and meets any."""
        return (self.ttft_ms is None or ttft_ms <= self.ttft_ms) and (
            self.tpot_ms is None or tpot_ms is None or tpot_ms <= self.tpot_ms
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """One replay. `hit_ratio` is cached over all prompt tokens, None where the server reports
    neither.
    """

    requests: int
    errors: dict[str, int]
    duration_s: float
    time_scale: float
    hit_ratio: float | None
    ttft: Spread
    tpot: Spread
    e2e: Spread
    lag: Spread
    prompt_tokens: int
    output_tokens: int
    objective: Objective
    slo_met: int | None
    instances: dict[str, int]

    @property
    def error_count(self) -> int:
        return sum(self.errors.values())

    @property
    def goodput_per_s(self) -> float | None:
        """Requests a second that met every target."""
        if self.slo_met is None or self.duration_s <= 0:
            return None
        return self.slo_met / self.duration_s

    def to_dict(self) -> dict[str, object]:
        goodput = self.goodput_per_s
        return {
            "requests": self.requests,
            "errors": self.error_count,
            "errors_by_kind": self.errors,
            "duration_s": round(self.duration_s, 3),
            "wall_s": round(self.duration_s / self.time_scale, 3),
            "time_scale": self.time_scale,
            "time": time_name(self.time_scale),
            "hit_ratio": None if self.hit_ratio is None else round(self.hit_ratio, 5),
            "ttft_ms": self.ttft.to_dict(),
            "tpot_ms": self.tpot.to_dict(),
            "e2e_ms": self.e2e.to_dict(),
            "lag_wall_ms": self.lag.to_dict(),
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "slo": {"ttft_ms": self.objective.ttft_ms, "tpot_ms": self.objective.tpot_ms},
            "slo_met": self.slo_met,
            "goodput_per_s": None if goodput is None else round(goodput, 4),
            "instances": self.instances,
        }


def time_name(time_scale: float) -> str:
    """Which clock a report uses."""
    return "wall" if time_scale == 1.0 else "model"


def summarise(
    measurements: Sequence[Measurement],
    *,
    time_scale: float = 1.0,
    objective: Objective | None = None,
) -> Summary:
    """Everything in milliseconds and seconds of the reported time."""
    objective = objective or Objective()
    done = [m for m in measurements if m.error is None]
    scale_ms = 1000 * time_scale
    met = sum(
        objective.met(m.ttft_s * scale_ms, None if m.tpot_s is None else m.tpot_s * scale_ms)
        for m in done
        if m.ttft_s is not None
    )
    return Summary(
        requests=len(measurements),
        errors=dict(Counter(m.error for m in measurements if m.error is not None).most_common()),
        duration_s=_span_s(measurements) * time_scale,
        time_scale=time_scale,
        hit_ratio=_hit_ratio(done),
        ttft=_spread((m.ttft_s for m in done), scale_ms),
        tpot=_spread((m.tpot_s for m in done), scale_ms),
        e2e=_spread((m.e2e_s for m in done), scale_ms),
        lag=_spread((m.lag_s for m in measurements), 1000),
        prompt_tokens=sum(m.prompt_tokens or 0 for m in done),
        output_tokens=sum(m.completion_tokens or 0 for m in done),
        objective=objective,
        slo_met=met if objective.given else None,
        instances=dict(sorted(Counter(m.instance for m in done if m.instance).items())),
    )


def _spread(seconds: Iterable[float | None], scale: float) -> Spread:
    return Spread.of([value * scale for value in seconds if value is not None])


def _span_s(measurements: Sequence[Measurement]) -> float:
    """From the first request's start to the last reply's end."""
    if not measurements:
        return 0.0
    start = min(m.at_s for m in measurements)
    return max(m.at_s + (m.e2e_s or 0.0) for m in measurements) - start


def _hit_ratio(done: Sequence[Measurement]) -> float | None:
    known = [m for m in done if m.prompt_tokens and m.cached_tokens is not None]
    prompt = sum(m.prompt_tokens or 0 for m in known)
    return sum(m.cached_tokens or 0 for m in known) / prompt if prompt else None
