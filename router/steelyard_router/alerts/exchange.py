"""How router replicas tell each other what they measured, so that one can judge for all.

Whole distributions travel, never percentiles: the p95 of a service cannot be had from the p95s of
its replicas. `revision` names what the numbers mean, the classes of requests and their targets:
replicas of different meanings are not added up.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from steelyard_router.alerts.measure import METRICS, Metric
from steelyard_router.alerts.window import STATUS_WINDOW_S, Windows
from steelyard_router.config import Policy
from steelyard_router.scheduling.histogram import Histogram

FIGURES: tuple[Metric, ...] = ("Score", "Attainment")
"""What alerts/figure shows of a service, and replicas tell of every workload with or without an
alert.
"""


class Place(NamedTuple):
    """Which window a distribution is of."""

    metric: Metric
    workload: str
    window_s: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What one replica has measured by now, in the windows that alerts and the service's figures
    ask for. Places without a sample are left out.
    """

    revision: str
    histograms: Mapping[Place, Histogram]

    @classmethod
    def of(cls, policy: Policy, windows: Windows, now: float) -> Self:
        taken = {
            place: windows.snapshot(place.metric, place.workload, place.window_s, now)
            for place in _places(policy)
        }
        return cls(meaning(policy), {place: full for place, full in taken.items() if full.count})

    def to_dict(self) -> dict[str, object]:
        """A form for JSON."""
        return {
            "revision": self.revision,
            "histograms": [
                {**place._asdict(), "histogram": histogram.to_dict()}
                for place, histogram in self.histograms.items()
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`. Raises ValueError for anything else."""
        try:
            return cls(
                str(data["revision"]),
                {
                    Place(_metric(row["metric"]), str(row["workload"]), int(row["window_s"])): (
                        Histogram.from_dict(row["histogram"])
                    )
                    for row in data["histograms"]
                },
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not what a replica measured: {error!r}") from error


def meaning(policy: Policy) -> str:
    """The same for policies whose measurements can be added up."""
    classes = [
        (workload.name, workload.default, workload.match, workload.slo)
        for workload in policy.workloads
    ]
    said = json.dumps(
        [(n, d, m.model_dump(mode="json"), s.model_dump(mode="json")) for n, d, m, s in classes],
        sort_keys=True,
    )
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def _places(policy: Policy) -> set[Place]:
    everywhere = tuple(workload.name for workload in policy.workloads)
    judged = {
        Place(alert.metric, workload, alert.window_s)
        for alert in policy.alerts
        for workload in alert.workloads or everywhere
    }
    shown = {
        Place(metric, workload, STATUS_WINDOW_S) for metric in FIGURES for workload in everywhere
    }
    return judged | shown


def _metric(name: str) -> Metric:
    for metric in METRICS:
        if metric == name:
            return metric
    raise ValueError(f"{name} is no metric")
