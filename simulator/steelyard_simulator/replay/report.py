"""The figures of one run. Latencies count whole replies; what failed or was refused misses every
target.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.summary import Spread
from steelyard_simulator.replay.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Setup:
    """What was run. `rate_per_s` is known of mixes alone; `max_sequences` and `kv_tokens` are an
    engine's limits.
    """

    trace: str
    policy: str
    scheduler: str
    instances: int
    max_sequences: int
    kv_tokens: int
    rate_scale: float
    rate_per_s: float | None
    seed: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Milliseconds that requests were held by their router; those placed at once count with 0."""

    mean: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Wait":
        spread = Spread.of([1000 * value for value in seconds])
        return cls(spread.mean or 0.0, spread.p99 or 0.0, 1000 * max(seconds, default=0.0))


@dataclass(frozen=True, slots=True)
class Report:
    """`wall_s` and `cpu_s` are what the run took, `span_s` what it simulated; `hit_ratio` is cached
    over all prompt tokens as the engines know it.

    `attainment` is the share of requests that met every target, by workload, `attained` that of
    all. `g` is how many met them over the sum of all latencies in seconds; of a request that was
    refused or has failed the time until then counts.
    """

    setup: Setup
    requests: int
    failed: int
    """Without a whole reply, refused ones among them."""
    rejected: int
    retries: int
    preemptions: int
    """Times that an engine's memory ran out, and a reply had to be computed anew."""
    wall_s: float
    cpu_s: float
    span_s: float
    hit_ratio: float
    ttft: Spread
    tpot: Spread
    e2e: Spread
    wait: Wait
    attainment: Mapping[str, float]
    attained: float
    g: float
    by_instance: Mapping[str, int]

    def to_dict(self) -> dict[str, object]:
        return {
            **asdict(self.setup),
            "requests": self.requests,
            "failed": self.failed,
            "rejected": round(_share(self.rejected, self.requests), 5),
            "retries": self.retries,
            "preemptions": self.preemptions,
            "wall_s": round(self.wall_s, 3),
            "cpu_s": round(self.cpu_s, 3),
            "span_s": round(self.span_s, 3),
            "hit_ratio": round(self.hit_ratio, 5),
            "ttft_ms": self.ttft.to_dict(),
            "tpot_ms": self.tpot.to_dict(),
            "e2e_ms": self.e2e.to_dict(),
            "wait_ms": {name: round(value, 3) for name, value in asdict(self.wait).items()},
            "attainment": {name: round(share, 5) for name, share in self.attainment.items()},
            "attainment_overall": round(self.attained, 5),
            "g": round(self.g, 6),
            "requests_by_instance": dict(self.by_instance),
        }


def report(
    outcomes: Sequence[Outcome],
    setup: Setup,
    *,
    slos: Mapping[str, SLO],
    retries: int,
    preemptions: int,
    wall_s: float,
    cpu_s: float,
) -> Report:
    done = [one for one in outcomes if one.e2e_s is not None]
    prompt = sum(one.prompt_tokens for one in done)
    total, met = Counter(one.workload for one in outcomes), Counter[str]()
    for one in done:
        met[one.workload] += _attained(one, slos[one.workload])
    latency_s = sum(one.open_s if one.e2e_s is None else one.e2e_s for one in outcomes)
    return Report(
        setup=setup,
        requests=len(outcomes),
        failed=len(outcomes) - len(done),
        rejected=sum(one.rejected for one in outcomes),
        retries=retries,
        preemptions=preemptions,
        wall_s=wall_s,
        cpu_s=cpu_s,
        span_s=_span_s(outcomes),
        hit_ratio=_share(sum(one.cached_tokens for one in done), prompt),
        ttft=_spread(one.ttft_s for one in done),
        tpot=_spread(one.tpot_s for one in done),
        e2e=_spread(one.e2e_s for one in done),
        wait=Wait.of([one.wait_s for one in outcomes]),
        attainment={name: met[name] / total[name] for name in sorted(total)},
        attained=_share(met.total(), len(outcomes)),
        g=_share(met.total(), latency_s),
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


def _span_s(outcomes: Sequence[Outcome]) -> float:
    """From the first arrival to the last reply's end."""
    starts = [one.at_s for one in outcomes]
    ends = [one.at_s + (one.e2e_s or 0.0) for one in outcomes]
    return max(ends, default=0.0) - min(starts, default=0.0)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _spread(seconds: Iterable[float | None]) -> Spread:
    return Spread.of([1000 * value for value in seconds if value is not None])
