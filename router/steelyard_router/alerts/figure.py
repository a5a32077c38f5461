"""The figures of a whole service, for people: what all its replicas measured together.

They come from the distributions that alerts are judged on, so a figure and an alert never disagree
on what was measured. Making one costs nothing; it is worked out when somebody asks.
"""

from dataclasses import dataclass

from steelyard_router.alerts.book import Source
from steelyard_router.alerts.measure import Metric, digest, measure
from steelyard_router.alerts.window import STATUS_WINDOW_S
from steelyard_router.config import Workload
from steelyard_router.scheduling.histogram import Histogram


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """Over the status window. `replicas`: of how many the measurements are in it."""

    source: Source
    replicas: int
    workloads: tuple[Workload, ...]

    def attainment_percent(self, workload: str, now: float) -> float | None:
        """None: no request could be judged, or not all replicas are known."""
        found = self._recent("Attainment", workload, now)
        return None if found is None else measure("Attainment", found, 0)

    def score(self, workload: str, now: float) -> dict[str, float | int | None] | None:
        """As measure.digest; None: not all replicas are known."""
        found = self._recent("Score", workload, now)
        return None if found is None else digest("Score", found)

    def _recent(self, metric: Metric, workload: str, now: float) -> Histogram | None:
        return self.source.snapshot(metric, workload, STATUS_WINDOW_S, now)
