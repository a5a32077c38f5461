"""Predictions in /status and /metrics: how good they are, what they are made of, whether they still
fit.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from steelyard_router.alerts.window import STATUS_WINDOW_S
from steelyard_router.observability.accuracy import digest
from steelyard_router.observability.drift import Drift
from steelyard_router.observability.exposition import Family
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.series import Buckets
from steelyard_router.observability.snapshot import InstanceView
from steelyard_router.scheduling.histogram import Histogram

Json = dict[str, object]
ByKind = dict[str, Histogram]
ErrorRow = tuple[dict[str, str], Buckets]

ERROR_NAME = "steelyard_prediction_error_ratio"
ERROR_TEXT = "|actual / predicted - 1| of TTFT (from the decision on) and of TPOT."


def prediction(
    observer: Observer,
    instances: tuple[InstanceView, ...],
    now: float,
    time: Callable[[object], str | None],
) -> Json:
    """The document's part; `time` turns a moment on the router's clock into a time of day."""
    recent, windows = {}, observer.windows
    for name, book in observer.workloads():
        ttft = windows.snapshot("PredictionError", name, STATUS_WINDOW_S, now)
        recent[name] = {"ttft": ttft, "tpot": book.accuracy.recent_tpot.snapshot(now)}
    return {
        "overall": _digests(_merged(recent.values())),
        "workloads": [{"name": name, **_digests(each)} for name, each in recent.items()],
        "instances": [_instance(each, observer.drift.stepped_at, time) for each in instances],
        "drift": [_drift(state, now, time) for state in observer.drift.states()],
    }


def _merged(parts: Iterable[ByKind]) -> ByKind:
    whole: ByKind = {"ttft": Histogram(), "tpot": Histogram()}
    for part in parts:
        for kind, errors in part.items():
            whole[kind].merge(errors)
    return whole


def _digests(errors: ByKind) -> Json:
    return {kind: digest(each) for kind, each in errors.items()}


def error_rows(observer: Observer) -> Iterator[ErrorRow]:
    for name, book in observer.workloads():
        for kind, errors in book.accuracy.kinds():
            yield {"workload": name, "kind": kind}, errors


def drift_family(observer: Observer) -> Family:
    name = "steelyard_prediction_drift"
    text = "Whether predictions drift (1) or not (0), by what is watched: error, clock or input."
    states = observer.drift.states()
    return Family(
        Metric(name, text, "gauge"),
        (Sample(name, {"monitor": each.monitor.value}, each.drifting) for each in states),
    )


def _instance(
    instance: InstanceView,
    stepped_at: Callable[[str], float | None],
    time: Callable[[object], str | None],
) -> Json:
    costs = instance.coefficients
    at = stepped_at(instance.id)
    return {
        "id": instance.id,
        "trusted": instance.trusted,
        "coefficients": None if costs is None else costs._asdict(),
        "pace": round(instance.pace, 3),
        "last_step": None if at is None else time(at),
    }


def _drift(state: Drift, now: float, time: Callable[[object], str | None]) -> Json:
    """`lasting` and `where` make the operator's condition."""
    return {
        "monitor": state.monitor.value,
        "state": "Drifting" if state.drifting else "OK",
        "since": time(state.since),
        "lasting": state.lasting(now),
        "what": list(state.what),
        "where": list(state.where),
    }
