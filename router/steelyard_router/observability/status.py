"""/status: the same facts as /metrics, in the words and the quantiles that people ask for.

Clients may rely on the keys below; new ones may join them. Times of day are RFC 3339 in UTC.
`service` is what all replicas measured together, null from all but the one that judges, as alerts
count from that one only; everything else is of this replica.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from steelyard_router.observability.observer import Observer
from steelyard_router.observability.prediction_view import prediction
from steelyard_router.observability.service_view import service_status
from steelyard_router.observability.shadow_view import shadow_status
from steelyard_router.observability.snapshot import InstanceView, RouterSnapshot

Json = dict[str, object]

MEASURES = (("score", "Score"), ("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("e2e_ms", "E2E"))
"""Key here and metric of alerts/window, whose summary gives latencies in milliseconds."""


def status(snapshot: RouterSnapshot, observer: Observer, now: float, wall: float) -> Json:
    """The whole document, ready for JSON. `wall` is the Unix time of `now`."""
    return {
        "revision": snapshot.revision,
        "ready": snapshot.ready,
        "unready_reason": snapshot.unready,
        "unserved_reason": snapshot.unserved,
        "draining": snapshot.draining,
        "config_error": snapshot.config_error,
        "replica": snapshot.replica,
        "holder": snapshot.holder,
        "policy_ref": snapshot.policy_ref and snapshot.policy_ref.model_dump(),
        "shadow": _shadow(observer, now, wall),
        "uptime_s": round(now - observer.started, 3),
        "leases_held": snapshot.leases_held,
        "running": snapshot.running,
        "waiting": snapshot.waiting,
        "line": {
            "waiting": snapshot.in_line,
            "yielding": snapshot.yielding,
            "would_wait": dict(snapshot.would_wait),
        },
        "index": {
            "blocks": snapshot.index.blocks,
            "holders": snapshot.index.holders,
            "bytes": snapshot.index.bytes,
            "budget_evictions": snapshot.index.budget_evictions,
        },
        "instances": [_instance(instance) for instance in snapshot.instances],
        "alerts": _alerts(snapshot.alerts, now, wall),
        "workloads": _workloads(observer, now),
        "service": snapshot.service and service_status(snapshot.service, now),
        "prediction": prediction(
            observer, snapshot.instances, now, lambda since: _time(since, now, wall)
        ),
        "totals": _totals(observer),
    }


def _instance(instance: InstanceView) -> Json:
    return {
        "id": instance.id,
        "url": instance.url,
        "state": instance.state,
        "usable": instance.usable,
        "healthy": instance.healthy,
        "breaker": instance.breaker,
        "limit": None if instance.limit == float("inf") else instance.limit,
        "width": None if instance.width == float("inf") else instance.width,
        "queued_tokens": round(instance.queued_tokens),
        "requests": round(instance.requests),
        "context_tokens": round(instance.context_tokens),
        "index_blocks": instance.index_blocks,
        "leases": instance.leases,
        "models": sorted(instance.models),
    }


def _shadow(observer: Observer, now: float, wall: float) -> Json | None:
    if (book := observer.shadow) is None:
        return None
    told = shadow_status(book, now)
    return told | {
        "since": _time(told["since"], now, wall),
        "alerts": _alerts(book.alerts(), now, wall),
    }


def _alerts(alerts: Iterable[Mapping[str, object]], now: float, wall: float) -> list[Json]:
    return [{**alert, "since": _time(alert.get("since"), now, wall)} for alert in alerts]


def _time(since: object, now: float, wall: float) -> str | None:
    """A moment on the router's clock as a time of day."""
    if not isinstance(since, int | float):
        return None
    return datetime.fromtimestamp(wall - (now - since), UTC).isoformat(timespec="milliseconds")


def _workloads(observer: Observer, now: float) -> list[Json]:
    """Counts since the start; distributions over the windows' status window."""
    recent = observer.windows.summary(now)
    rows: list[Json] = []
    for name, book in observer.workloads():
        measured = recent.get(name, {})
        row: Json = {
            "name": name,
            "requests": book.requests,
            "attainment_percent": measured.get("Attainment", {}).get("percent"),
            "attainment_target_percent": book.targets.attainment_percent,
        }
        row |= {key: measured.get(metric) for key, metric in MEASURES}
        rows.append(row)
    return rows


def _totals(observer: Observer) -> Json:
    total = observer.series.total()
    return {
        "requests": total.requests,
        "errors": total.errors,
        "retries": sum(observer.retries.values()),
        "prompt_tokens": total.prompt_tokens,
        "output_tokens": total.output_tokens,
        "predicted_hit_tokens": total.hit_tokens,
        "cached_tokens": total.cached_tokens,
        "hit_ratio": total.hit_ratio,
    }
