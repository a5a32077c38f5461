"""The metrics of /metrics: what each is called and where its value comes from.

Nothing is kept here. Counts are read from the observer and states from a snapshot, when somebody
scrapes. Every name carries its base unit, or counts things that it names; every label has a bounded
set of values.
"""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from steelyard_router.observability.accuracy import ERROR_BOUNDS
from steelyard_router.observability.exposition import Family
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.prediction_view import (
    ERROR_NAME,
    ERROR_TEXT,
    drift_family,
    error_rows,
)
from steelyard_router.observability.series import (
    CODES,
    E2E_BOUNDS_S,
    MAX_INSTANCES,
    OVERHEAD_BOUNDS_S,
    QUEUE_BOUNDS_S,
    SCORE_BOUNDS,
    TPOT_BOUNDS_S,
    TTFT_BOUNDS_S,
    Bounds,
    Buckets,
    Series,
)
from steelyard_router.observability.service_view import service_families
from steelyard_router.observability.shadow_view import shadow_families
from steelyard_router.observability.snapshot import InstanceView, RouterSnapshot, Source

Labels = dict[str, str]

BREAKER_LEVELS = {"closed": 0, "returning": 1, "half_open": 2, "open": 3}

HISTOGRAMS_BY_INSTANCE: tuple[tuple[str, str, Bounds, Callable[[Series], Buckets]], ...] = (
    (
        "steelyard_request_ttft_seconds",
        "Time to the first token of streamed requests, in seconds.",
        TTFT_BOUNDS_S,
        attrgetter("ttft"),
    ),
    (
        "steelyard_request_tpot_seconds",
        "Time per output token after the first, in seconds.",
        TPOT_BOUNDS_S,
        attrgetter("tpot"),
    ),
    (
        "steelyard_request_e2e_seconds",
        "Duration of successful requests, in seconds.",
        E2E_BOUNDS_S,
        attrgetter("e2e"),
    ),
)
"""Name, help, upper bounds and attribute of Series."""

COUNTERS_BY_INSTANCE: tuple[tuple[str, str, Callable[[Series], int]], ...] = (
    (
        "steelyard_prompt_tokens",
        "Prompt tokens, estimated from bytes.",
        attrgetter("tally.prompt_tokens"),
    ),
    ("steelyard_output_tokens", "Output tokens.", attrgetter("tally.output_tokens")),
    (
        "steelyard_predicted_hit_tokens",
        "Prompt tokens that the index expected to be cached.",
        attrgetter("tally.hit_tokens"),
    ),
    (
        "steelyard_cached_tokens",
        "Prompt tokens that engines reported as cached.",
        attrgetter("tally.cached_tokens"),
    ),
    (
        "steelyard_reported_prompt_tokens",
        "Prompt tokens of requests whose engine reported cached tokens.",
        attrgetter("tally.reported_prompt_tokens"),
    ),
)

INSTANCE_GAUGES: tuple[tuple[str, str, Callable[[InstanceView], float]], ...] = (
    (
        "steelyard_instance_queued_prefill_tokens",
        "Uncached prompt tokens waiting for prefill (Q).",
        attrgetter("queued_tokens"),
    ),
    (
        "steelyard_instance_requests",
        "Requests on the instance, running and queued (B).",
        attrgetter("requests"),
    ),
    (
        "steelyard_instance_context_tokens",
        "Context tokens that running requests hold (C).",
        attrgetter("context_tokens"),
    ),
    (
        "steelyard_instance_index_blocks",
        "Prompt blocks the index holds for the instance.",
        attrgetter("index_blocks"),
    ),
    (
        "steelyard_instance_usable",
        "Whether new requests may go there (1) or not (0).",
        attrgetter("usable"),
    ),
    (
        "steelyard_instance_width_sequences",
        "Sequences its engine was seen to run at once; +Inf while it has let none wait.",
        attrgetter("width"),
    ),
    (
        "steelyard_instance_pace_ratio",
        "How many times as long as before the same work takes; 1 where nothing has changed.",
        attrgetter("pace"),
    ),
    (
        "steelyard_breaker_state",
        "Circuit breaker: 0 closed, 1 returning, 2 half open, 3 open.",
        lambda instance: BREAKER_LEVELS[instance.breaker],
    ),
)

ROUTER_GAUGES: tuple[tuple[str, str, Callable[[RouterSnapshot], float]], ...] = (
    (
        "steelyard_leases_held",
        "Leases that requests hold on instances; 0 when idle.",
        attrgetter("leases_held"),
    ),
    ("steelyard_requests_running", "Requests past admission.", attrgetter("running")),
    ("steelyard_requests_waiting", "Requests waiting in the queue.", attrgetter("waiting")),
    (
        "steelyard_line_waiting",
        "Of those, requests waiting for an instance with room.",
        attrgetter("in_line"),
    ),
    (
        "steelyard_line_yielding",
        "Of those, requests that wait because others would miss their targets.",
        attrgetter("yielding"),
    ),
    ("steelyard_index_bytes", "Bytes the prefix index takes.", attrgetter("index.bytes")),
    (
        "steelyard_index_blocks",
        "Different prompt blocks in the prefix index.",
        attrgetter("index.blocks"),
    ),
    (
        "steelyard_alert_holder",
        "Whether this replica judges the alerts (1) or another does (0).",
        attrgetter("holder"),
    ),
    ("steelyard_ready", "Whether /readyz says yes (1) or no (0).", attrgetter("ready")),
)


class Metrics:
    """A prometheus_client collector over one source, and its registry, with process metrics."""

    def __init__(self, source: Source, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock
        self._process = ProcessCollector(registry=None)
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self.registry.register(self._process)

    def collect(self) -> Iterator[Metric]:
        """The router's own metrics whole, for the library; a server renders `families` instead."""
        return (family.whole() for family in self._own())

    def families(self) -> Iterator[Family]:
        """All metrics, process metrics included, their samples made as they are read."""
        yield from self._own()
        for metric in self._process.collect():
            yield Family(metric, metric.samples)

    def _own(self) -> Iterator[Family]:
        now = self._clock()
        snapshot, observer = self._source.snapshot(now), self._source.observer
        observer.tidy({instance.id for instance in snapshot.instances}, now)
        yield from _requests(observer)
        yield from _workloads(observer)
        yield from _router(observer, snapshot)
        if snapshot.service is not None:
            yield from service_families(snapshot.service, now)
        if (trial := observer.shadow) is not None:
            yield from shadow_families(trial)
        shown = snapshot.instances[:MAX_INSTANCES]
        for name, text, value in INSTANCE_GAUGES:
            yield _gauge(name, text, [({"instance": i.id}, value(i)) for i in shown])


def _requests(observer: Observer) -> Iterator[Family]:
    """What is counted by workload and instance. An empty instance label: no instance was chosen."""
    rows = [
        ({"workload": workload, "instance": instance}, series)
        for (workload, instance), series in observer.series.items()
    ]
    yield _counter(
        "steelyard_requests",
        "Requests that ended, by result and class of the status code.",
        (
            ({**labels, "result": result, "code": CODES[hundreds]}, count)
            for labels, series in rows
            for (result, hundreds), count in list(series.tally.results.items())
        ),
    )
    for name, text, bounds, buckets in HISTOGRAMS_BY_INSTANCE:
        yield _histogram(name, text, bounds, ((labels, buckets(series)) for labels, series in rows))
    for name, text, value in COUNTERS_BY_INSTANCE:
        yield _counter(name, text, ((labels, value(series)) for labels, series in rows))


def _workloads(observer: Observer) -> Iterator[Family]:
    rows = [({"workload": name}, book) for name, book in observer.workloads()]
    yield _histogram(
        "steelyard_request_queue_seconds",
        "Time requests waited in the queue, in seconds.",
        QUEUE_BOUNDS_S,
        ((labels, book.queue) for labels, book in rows),
    )
    yield _histogram(
        "steelyard_score",
        "Score of placed requests, (Q + P) * (B + 1) on the chosen instance, in tokens x requests.",
        SCORE_BOUNDS,
        ((labels, book.score) for labels, book in rows),
    )
    yield _histogram(ERROR_NAME, ERROR_TEXT, ERROR_BOUNDS, error_rows(observer))
    yield drift_family(observer)


def _router(observer: Observer, snapshot: RouterSnapshot) -> Iterator[Family]:
    """What is counted, or is so, once for the whole router."""
    yield _histogram(
        "steelyard_routing_overhead_seconds",
        "Time the router itself took before it sent a request on, queueing apart, in seconds.",
        OVERHEAD_BOUNDS_S,
        [({}, observer.overhead)],
    )
    yield _counter(
        "steelyard_retries",
        "Attempts after the first, by reason.",
        (({"reason": reason}, n) for reason, n in list(observer.retries.items())),
    )
    yield _counter(
        "steelyard_config_reloads",
        "Configurations swapped in (ok) or refused (error).",
        (({"result": result}, n) for result, n in list(observer.reloads.items())),
    )
    yield _counter(
        "steelyard_line_would_wait",
        "Requests that a scheduler on trial would have let wait for an instance with room.",
        (({"workload": name}, n) for name, n in list(snapshot.would_wait.items())),
    )
    yield _counter(
        "steelyard_index_budget_evictions",
        "Blocks evicted because the byte budget was full.",
        [({}, snapshot.index.budget_evictions)],
    )
    recorder = observer.recorder
    yield _counter(
        "steelyard_record_requests",
        "Requests that recordings took (recorded), or had no room for (dropped).",
        (
            ({"outcome": "recorded"}, recorder.recorded),
            ({"outcome": "dropped"}, recorder.dropped),
        ),
    )
    for name, text, value in ROUTER_GAUGES:
        yield _gauge(name, text, [({}, value(snapshot))])
    yield _gauge(
        "steelyard_alert_firing",
        "Whether an alert fires for a workload (1) or not (0).",
        (
            ({"alert": str(a["alert"]), "workload": str(a["workload"])}, a["state"] == "Firing")
            for a in snapshot.alerts
        ),
    )
    posted, dropped = snapshot.events_posted, snapshot.events_dropped
    for outcome, counts in (("posted", posted), ("dropped", dropped)):
        yield _counter(
            f"steelyard_alert_events_{outcome}",
            f"Kubernetes Events of alerts that were {outcome}, by reason.",
            (({"reason": reason}, n) for reason, n in list(counts.items())),
        )
    info = Metric("steelyard_config", "The configuration that runs.", "info")
    yield Family(info, [Sample("steelyard_config_info", {"revision": snapshot.revision or ""}, 1)])


def _counter(name: str, text: str, rows: Iterable[tuple[Labels, int]]) -> Family:
    samples = (Sample(f"{name}_total", labels, value) for labels, value in rows)
    return Family(Metric(name, text, "counter"), samples)


def _gauge(name: str, text: str, rows: Iterable[tuple[Labels, float]]) -> Family:
    return Family(
        Metric(name, text, "gauge"), (Sample(name, labels, value) for labels, value in rows)
    )


def _histogram(
    name: str, text: str, bounds: Bounds, rows: Iterable[tuple[Labels, Buckets]]
) -> Family:
    """Series that have counted nothing are left out: an instance that never streams has no TTFT."""
    limits = [*map(str, bounds), "+Inf"]
    samples = (
        sample
        for labels, buckets in rows
        for sample in _bucket_samples(name, labels, buckets, limits)
    )
    return Family(Metric(name, text, "histogram"), samples)


def _bucket_samples(
    name: str, labels: Labels, buckets: Buckets, limits: list[str]
) -> Iterator[Sample]:
    """One series. It is read in one step, so that its parts agree however slowly it is written."""
    counts, total = buckets.cumulative(), buckets.sum
    if not counts[-1]:
        return
    for limit, count in zip(limits, counts, strict=True):
        yield Sample(f"{name}_bucket", {**labels, "le": limit}, count)
    yield Sample(f"{name}_count", labels, counts[-1])
    yield Sample(f"{name}_sum", labels, total)
