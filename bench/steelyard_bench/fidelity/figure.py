"""What a replay comes to, however it was played: the figures that are compared. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Final

import numpy as np

from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.replay.outcome import Outcome

DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Figures:
    """Of the requests that were answered; `busiest` is the share of them that the engine with the
    most of them got, `errors` how many others there are.
    """

    requests: int
    errors: int
    ttft_ms: float
    ttft_p50_ms: float
    ttft_p99_ms: float
    tpot_ms: float
    e2e_ms: float
    hit_ratio: float
    busiest: float

    def to_dict(self) -> dict[str, float]:
        return {name: round(value, DIGITS) for name, value in asdict(self).items()}


def of_measurements(found: Sequence[Measurement], *, time_scale: float = 1.0) -> Figures:
    """Times multiplied by `time_scale`, for engines that run as much faster."""
    done = [one for one in found if one.error is None]
    return _figures(
        errors=len(found) - len(done),
        ttft_s=[time_scale * one.ttft_s for one in done if one.ttft_s is not None],
        tpot_s=[time_scale * one.tpot_s for one in done if one.tpot_s is not None],
        e2e_s=[time_scale * one.e2e_s for one in done if one.e2e_s is not None],
        prompt_tokens=sum(one.prompt_tokens or 0 for one in done),
        cached_tokens=sum(one.cached_tokens or 0 for one in done),
        instances=[one.instance for one in done],
    )


def of_outcomes(found: Sequence[Outcome], *, overhead_s: float) -> Figures:
    """With what a request takes outside of its engine added, which the simulation knows nothing
    of."""
    done = [one for one in found if one.e2e_s is not None]
    return _figures(
        errors=len(found) - len(done),
        ttft_s=[one.ttft_s + overhead_s for one in done if one.ttft_s is not None],
        tpot_s=[one.tpot_s for one in done if one.tpot_s is not None],
        e2e_s=[one.e2e_s + overhead_s for one in done if one.e2e_s is not None],
        prompt_tokens=sum(one.prompt_tokens for one in done),
        cached_tokens=sum(one.cached_tokens for one in done),
        instances=[one.instance for one in done],
    )


def mean(runs: Sequence[Figures]) -> dict[str, float]:
    """Of every figure."""
    return _over(runs, fmean)


def deviation(runs: Sequence[Figures]) -> dict[str, float]:
    """Of every figure: what one run may be off by chance alone."""
    return _over(runs, lambda values: stdev(values) if len(values) > 1 else 0.0)


def _over(runs: Sequence[Figures], of: Callable[[list[float]], float]) -> dict[str, float]:
    rows = [one.to_dict() for one in runs]
    return {name: round(of([row[name] for row in rows]), DIGITS) for name in rows[0]}


def _figures(
    *,
    errors: int,
    ttft_s: Sequence[float],
    tpot_s: Sequence[float],
    e2e_s: Sequence[float],
    prompt_tokens: int,
    cached_tokens: int,
    instances: Sequence[str | None],
) -> Figures:
    if not ttft_s:
        return Figures(0, errors, *[0.0] * 7)
    p50, p99 = np.percentile(ttft_s, (50, 99))
    return Figures(
        requests=len(ttft_s),
        errors=errors,
        ttft_ms=1000 * fmean(ttft_s),
        ttft_p50_ms=1000 * float(p50),
        ttft_p99_ms=1000 * float(p99),
        tpot_ms=1000 * fmean(tpot_s) if tpot_s else 0.0,
        e2e_ms=1000 * fmean(e2e_s),
        hit_ratio=cached_tokens / prompt_tokens if prompt_tokens else 0.0,
        busiest=max(Counter(instances).values()) / len(instances),
    )
