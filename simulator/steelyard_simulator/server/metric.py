"""GET /metrics under vLLM's names. Times are engine seconds, so that they do not depend on the
speed."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from steelyard_simulator.server.driver import Driver, Group

LABELS: Final = ("model_name", "engine")
FIRST_TOKEN_BUCKETS: Final = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
TOKEN_BUCKETS: Final = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
)  # fmt: skip
REQUEST_BUCKETS: Final = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip


class Metrics:
    """Gauges and counters are read from the engine at each scrape; only requests are observed."""

    def __init__(self, model: str, driver: Driver) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_EngineCollector(model, driver))
        self._labels = (model, "0")
        self._success = Counter(
            "vllm:request_success",
            "Requests that ended well, by finished reason.",
            (*LABELS, "finished_reason"),
            registry=self._registry,
        )
        self._ttft = self._histogram("time_to_first_token", FIRST_TOKEN_BUCKETS)
        self._tpot = self._histogram("request_time_per_output_token", TOKEN_BUCKETS)
        self._e2e = self._histogram("e2e_request_latency", REQUEST_BUCKETS)

    def record(self, group: Group, reason: str) -> None:
        """Counts the jobs of a request that ended by itself; those of clients that left are not."""
        for ticket in group.tickets:
            self._success.labels(*self._labels, reason).inc()
            if ticket.finished_s is None:
                continue
            self._e2e.observe(ticket.finished_s - group.submitted_s)
            if ticket.first_token_s is None:
                continue
            self._ttft.observe(ticket.first_token_s - group.submitted_s)
            if ticket.generated > 1:
                self._tpot.observe(
                    (ticket.finished_s - ticket.first_token_s) / (ticket.generated - 1)
                )

    def render(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self._registry)

    def _histogram(self, name: str, buckets: tuple[float, ...]) -> Histogram:
        metric = Histogram(
            f"vllm:{name}_seconds",
            f"Histogram of {name.replace('_', ' ')} in engine seconds.",
            LABELS,
            buckets=buckets,
            registry=self._registry,
        )
        return metric.labels(*self._labels)


class _EngineCollector(Collector):
    """The engine's state as metric families."""

    def __init__(self, model: str, driver: Driver) -> None:
        self._model = model
        self._driver = driver

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        self._driver.refresh()
        engine = self._driver.engine
        counters = engine.counters
        yield self._gauge("num_requests_running", "Requests in the batch.", engine.running)
        yield self._gauge("num_requests_waiting", "Requests in the queue.", engine.waiting)
        yield self._gauge("kv_cache_usage_perc", "KV blocks in use, 1 is all.", engine.kv_usage)
        for name, text, value in (
            ("prefix_cache_queries", "Tokens looked up in the cache.", counters.query_tokens),
            ("prefix_cache_hits", "Tokens found in the cache.", counters.hit_tokens),
            ("prompt_tokens", "Prefill tokens processed.", counters.prompt_tokens),
            ("generation_tokens", "Tokens generated.", counters.generated_tokens),
            ("num_preemptions", "Preemptions.", counters.preemptions),
        ):
            family = CounterMetricFamily(f"vllm:{name}", text, labels=LABELS)
            family.add_metric((self._model, "0"), value)
            yield family
        yield self._config()

    def _gauge(self, name: str, text: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"vllm:{name}", text, labels=LABELS)
        family.add_metric((self._model, "0"), value)
        return family

    def _config(self) -> GaugeMetricFamily:
        profile = self._driver.engine.profile
        facts = {
            "model_name": self._model,
            "engine": "0",
            "block_size": str(profile.block_tokens),
            "num_gpu_blocks": str(profile.blocks),
            "kv_cache_size_tokens": str(profile.blocks * profile.block_tokens),
            "enable_prefix_caching": "True",
        }
        family = GaugeMetricFamily(
            "vllm:cache_config_info", "The KV cache; the value is always 1.", labels=tuple(facts)
        )
        family.add_metric(tuple(facts.values()), 1)
        return family
