"""A policy on trial in /status and in the metrics."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from steelyard_router.observability.exposition import Family
from steelyard_router.observability.shadow import ShadowBook, ShadowWorkload, Tally

Json = dict[str, object]


def shadow_status(book: ShadowBook, now: float) -> Json:
    """`since`, here and in the alerts, is on the router's clock."""
    recent = book.windows.summary(now)
    return {
        "name": book.ref and book.ref.name,
        "uid": book.ref and book.ref.uid,
        "since": book.since,
        "decisions": book.agreement.told,
        "agreement_percent": book.agreement.percent,
        "workloads": [
            _workload(name, workload, recent[name]["Attainment"].get("percent"))
            for name, workload in book.workloads.items()
        ],
        "alerts": book.alerts(),
    }


def _workload(name: str, workload: ShadowWorkload, recent_percent: object) -> Json:
    """Counts since the trial began; `attainment_percent` of the last minutes, as elsewhere."""
    return {
        "name": name,
        "requests": workload.requests,
        "attainment_percent": recent_percent,
        "attainment_target_percent": workload.targets.attainment_percent,
        "met": _tally(workload.met),
        "targets": {target: _tally(tally) for target, tally in workload.by_target.items()},
    }


def _tally(tally: Tally) -> Json:
    return {"held": tally.held, "told": tally.told, "percent": tally.percent}


def shadow_families(book: ShadowBook) -> Iterator[Family]:
    workloads = list(book.workloads.items())
    agreed, told = book.agreement.held, book.agreement.told
    yield _counter(
        "steelyard_shadow_decisions",
        "Placements, by whether the policy on trial would have chosen the same instance.",
        [({"agrees": "true"}, agreed), ({"agrees": "false"}, told - agreed)],
    )
    yield _counter(
        "steelyard_shadow_requests",
        "Requests that ended, by workload of the policy on trial.",
        [({"workload": name}, workload.requests) for name, workload in workloads],
    )
    yield _counter(
        "steelyard_shadow_target_requests",
        "Requests whose time could be held against a target of the policy on trial, by outcome.",
        [
            ({"workload": name, "target": target, "met": met}, count)
            for name, workload in workloads
            for target, tally in workload.by_target.items()
            for met, count in (("true", tally.held), ("false", tally.told - tally.held))
        ],
    )
    alerts = [
        ({"alert": str(a["alert"]), "workload": str(a["workload"])}, a["state"] == "Firing")
        for a in book.alerts()
    ]
    name = "steelyard_shadow_alert_firing"
    text = "Whether an alert of the policy on trial would fire for a workload (1) or not (0)."
    yield Family(Metric(name, text, "gauge"), [Sample(name, at, fires) for at, fires in alerts])


def _counter(name: str, text: str, rows: list[tuple[dict[str, str], int]]) -> Family:
    samples = [Sample(f"{name}_total", labels, count) for labels, count in rows]
    return Family(Metric(name, text, "counter"), samples)
