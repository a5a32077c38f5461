"""The recent distributions of every workload: what alerts judge and /status shows.

One ring per window length that somebody asks for, so memory is bounded by the policy. Recording
costs about a microsecond per ring; nothing is aggregated before it is asked for.
"""

from steelyard_router.alerts.measure import METRICS, Metric, digest
from steelyard_router.config import Policy
from steelyard_router.scheduling.histogram import Histogram, WindowedHistogram

STATUS_WINDOW_S = 300
"""What /status shows, whatever the alerts ask for."""

_Rings = dict[float, WindowedHistogram]


class Windows:
    """Fed once per finished request; a Source of alerts."""

    def __init__(self, policy: Policy) -> None:
        self._rings: dict[tuple[str, Metric], _Rings] = {}
        self.replace(policy)

    def replace(self, policy: Policy) -> None:
        """Take a new policy: what it still needs goes on, the rest is dropped."""
        old = self._rings
        self._rings = {
            (workload.name, metric): {
                window_s: old.get((workload.name, metric), {}).get(window_s)
                or WindowedHistogram(window_s)
                for window_s in _lengths(policy, metric)
            }
            for workload in policy.workloads
            for metric in METRICS
        }

    def record(self, workload: str, metric: Metric, value: float, now: float) -> None:
        """One sample: Score in tokens x requests, TTFT, TPOT and E2E in seconds, PredictionError
        as a ratio.

        A workload that the policy does not have (any more) is ignored.
        """
        rings = self._rings.get((workload, metric))
        if rings is not None:
            for ring in rings.values():
                ring.record(value, now)

    def met(self, workload: str, *, ok: bool, now: float) -> None:
        """Whether one request met its SLO."""
        self.record(workload, "Attainment", 1.0 if ok else 0.0, now)

    def snapshot(self, metric: Metric, workload: str, window_s: float, now: float) -> Histogram:
        """The distribution over `window_s`; empty for a window that the policy does not name."""
        ring = self._rings.get((workload, metric), {}).get(window_s)
        return Histogram() if ring is None else ring.snapshot(now)

    def summary(self, now: float) -> dict[str, dict[str, dict[str, float | int | None]]]:
        """workload -> metric -> count, mean, p50, p95, p99 in the units of thresholds.

        Attainment has count and percent.
        """
        summary: dict[str, dict[str, dict[str, float | int | None]]] = {}
        for workload, metric in self._rings:
            recent = self.snapshot(metric, workload, STATUS_WINDOW_S, now)
            summary.setdefault(workload, {})[metric] = digest(metric, recent)
        return summary


def _lengths(policy: Policy, metric: Metric) -> set[float]:
    asked = {float(alert.window_s) for alert in policy.alerts if alert.metric == metric}
    return asked | {float(STATUS_WINDOW_S)}
