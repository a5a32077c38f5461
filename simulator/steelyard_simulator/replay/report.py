"""The figures of one run. Latencies count whole replies; what failed misses every target."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.summary import Spread
from steelyard_simulator.replay.outcome import Outcome

SCHEDULER = "fcfs"
"""How a router orders what waits at its door: here nothing waits there, so by arrival."""


@dataclass(frozen=True, slots=True)
class Report:
    """`wall_s` and `cpu_s` are what the run took, `span_s` what it simulated; `hit_ratio` is cached
    over all prompt tokens as the engines know it."""

    trace: str
    policy: str
    instances: int
    rate_scale: float
    seed: int
    requests: int
    failed: int
    retries: int
    wall_s: float
    cpu_s: float
    span_s: float
    hit_ratio: float
    ttft: Spread
    tpot: Spread
    e2e: Spread
    attainment: Mapping[str, float]
    by_instance: Mapping[str, int]

    def to_dict(self) -> dict[str, object]:
        return {
            "trace": self.trace,
            "policy": self.policy,
            "scheduler": SCHEDULER,
            "instances": self.instances,
            "rate_scale": self.rate_scale,
            "seed": self.seed,
            "requests": self.requests,
            "failed": self.failed,
            "retries": self.retries,
            "wall_s": round(self.wall_s, 3),
            "cpu_s": round(self.cpu_s, 3),
            "span_s": round(self.span_s, 3),
            "hit_ratio": round(self.hit_ratio, 5),
            "ttft_ms": self.ttft.to_dict(),
            "tpot_ms": self.tpot.to_dict(),
            "e2e_ms": self.e2e.to_dict(),
            "attainment": {name: round(share, 5) for name, share in self.attainment.items()},
            "requests_by_instance": dict(self.by_instance),
        }


def report(
    outcomes: Sequence[Outcome],
    *,
    trace: str,
    policy: str,
    instances: int,
    rate_scale: float,
    seed: int,
    slos: Mapping[str, SLO],
    retries: int,
    wall_s: float,
    cpu_s: float,
) -> Report:
    done = [one for one in outcomes if one.e2e_s is not None]
    prompt = sum(one.prompt_tokens for one in done)
    total, met = Counter(one.workload for one in outcomes), Counter[str]()
    for one in done:
        met[one.workload] += _attained(one, slos[one.workload])
    starts = [one.at_s for one in outcomes]
    ends = [one.at_s + (one.e2e_s or 0.0) for one in outcomes]
    return Report(
        trace=trace,
        policy=policy,
        instances=instances,
        rate_scale=rate_scale,
        seed=seed,
        requests=len(outcomes),
        failed=len(outcomes) - len(done),
        retries=retries,
        wall_s=wall_s,
        cpu_s=cpu_s,
        span_s=max(ends, default=0.0) - min(starts, default=0.0),
        hit_ratio=sum(one.cached_tokens for one in done) / prompt if prompt else 0.0,
        ttft=_spread([one.ttft_s for one in done]),
        tpot=_spread([one.tpot_s for one in done]),
        e2e=_spread([one.e2e_s for one in done]),
        attainment={name: met[name] / total[name] for name in sorted(total)},
        by_instance=dict(sorted(Counter(one.instance for one in done if one.instance).items())),
    )


def _attained(outcome: Outcome, slo: SLO) -> bool:
    """Whether it met every target that there is; a reply of one token has no TPOT to miss."""
    pairs = (
        (outcome.ttft_s, slo.ttft_s),
        (outcome.tpot_s, slo.tpot_s),
        (outcome.e2e_s, slo.e2e_s),
    )
    return all(value is None or target is None or value <= target for value, target in pairs)


def _spread(seconds: Sequence[float | None]) -> Spread:
    return Spread.of([1000 * value for value in seconds if value is not None])
