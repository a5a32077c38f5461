"""What all replicas measured together, in /status and in the metrics of the one that judges."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.observability.exposition import Family

Json = dict[str, object]


def service_status(figures: ServiceFigures, now: float) -> Json:
    """A workload has nulls while a replica that serves it has been out of reach for too long."""
    return {
        "replicas": figures.replicas,
        "workloads": [
            {
                "name": workload.name,
                "attainment_percent": figures.attainment_percent(workload.name, now),
                "attainment_target_percent": workload.slo.attainment_percent,
                "score": figures.score(workload.name, now),
            }
            for workload in figures.workloads
        ],
    }


def service_families(figures: ServiceFigures, now: float) -> Iterator[Family]:
    """Both with the same labels and from the same replica, so that they can be compared."""
    measured = {w.name: figures.attainment_percent(w.name, now) for w in figures.workloads}
    yield _ratios(
        "steelyard_workload_attainment_ratio",
        "Share of the service's requests of the last 5 minutes that met their targets, 0 to 1.",
        measured,
    )
    yield _ratios(
        "steelyard_workload_attainment_target_ratio",
        "Share of the service's requests that should meet their targets, 0 to 1.",
        {w.name: w.slo.attainment_percent for w in figures.workloads},
    )


def _ratios(name: str, text: str, percents: dict[str, float | None]) -> Family:
    samples = [
        Sample(name, {"workload": workload}, percent / 100)
        for workload, percent in percents.items()
        if percent is not None
    ]
    return Family(Metric(name, text, "gauge"), samples)
