"""The operator's own metrics, in a registry of their own. Labels are kinds and words, bounded."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from steelyard_router.kube.resource import Object

from .key import ObjectKey

SECONDS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
READY = ("True", "False", "Unknown")


class Metrics:
    """Heard from the queue, the dispatcher, the writers of statuses and Events."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        r = self.registry
        self._depth = Gauge(
            "steelyard_operator_queue_depth", "Keys that wait for their turn.", registry=r
        )
        self._wait = Histogram(
            "steelyard_operator_queue_wait_seconds", "Time that due keys wait for a worker.",
            ["kind"], buckets=SECONDS, registry=r,
        )  # fmt: skip
        self._duration = Histogram(
            "steelyard_operator_reconcile_seconds", "Time that a reconcile takes.",
            ["kind"], buckets=SECONDS, registry=r,
        )  # fmt: skip
        self._results = Counter(
            "steelyard_operator_reconciles", "Reconciles by kind and result.",
            ["kind", "result"], registry=r,
        )  # fmt: skip
        self._heard = Gauge(
            "steelyard_operator_last_event_time_seconds",
            "When an event of this kind was heard last, in seconds since 1970.",
            ["kind"], registry=r,
        )  # fmt: skip
        self._events = Counter(
            "steelyard_operator_events", "Kubernetes Events by reason and what became of them.",
            ["reason", "result"], registry=r,
        )  # fmt: skip
        self._applied = Counter(
            "steelyard_operator_children_changed", "Children created, changed or deleted.",
            ["kind"], registry=r,
        )  # fmt: skip
        self._corrected = Counter(
            "steelyard_operator_drift_corrected",
            "Children that others had changed and that were repaired.",
            ["kind"], registry=r,
        )  # fmt: skip
        self._objects = _Objects()
        r.register(self._objects)

    # -- the queue --------------------------------------------------------------------------------

    def depth(self, waiting: int) -> None:
        self._depth.set(waiting)

    def waited(self, kind: str, seconds: float) -> None:
        self._wait.labels(kind).observe(seconds)

    def ran(self, kind: str, seconds: float, result: str) -> None:
        self._duration.labels(kind).observe(seconds)
        self._results.labels(kind, result).inc()

    # -- the rest ---------------------------------------------------------------------------------

    def heard(self, kind: str) -> None:
        self._heard.labels(kind).set(time.time())

    def event(self, reason: str, result: str) -> None:
        self._events.labels(reason, result).inc()

    def changed(self, kind: str) -> None:
        self._applied.labels(kind).inc()

    def corrected(self, kind: str) -> None:
        self._corrected.labels(kind).inc()

    def status(self, key: ObjectKey, status: Object) -> None:
        """What an object's status says now."""
        self._objects.put(key, status)

    def forget(self, key: ObjectKey) -> None:
        self._objects.drop(key)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _Objects(Collector):
    """Counts at scrape time, from the last known status of each object."""

    def __init__(self) -> None:
        self._ready: dict[ObjectKey, str] = {}
        self._firing: dict[ObjectKey, int] = {}

    def put(self, key: ObjectKey, status: Object) -> None:
        conditions = status.get("conditions") or ()
        found = (row.get("status") for row in conditions if row.get("type") == "Ready")
        self._ready[key] = next(found, None) or "Unknown"
        alerts = status.get("alerts") or ()
        self._firing[key] = sum(row.get("state") == "Firing" for row in alerts)

    def drop(self, key: ObjectKey) -> None:
        self._ready.pop(key, None)
        self._firing.pop(key, None)

    def collect(self) -> list[Metric]:
        objects = GaugeMetricFamily(
            "steelyard_operator_objects",
            "Objects by kind and condition Ready.",
            labels=["kind", "ready"],
        )
        for kind in ("LLMService", "SLOPolicy"):
            for ready in READY:
                count = sum(
                    key.kind == kind and value == ready for key, value in self._ready.items()
                )
                objects.add_metric([kind, ready], count)
        firing = GaugeMetricFamily(
            "steelyard_operator_alerts_firing",
            "Alerts that fire, as routers report them.",
            value=sum(self._firing.values()),
        )
        return [objects, firing]
