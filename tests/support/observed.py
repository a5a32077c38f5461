"""A router's state as tests make it up: what /metrics, /status and the probes read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import parser

from steelyard_router.alerts.window import Windows
from steelyard_router.config import Policy, RouterConfig, Targets, Workload
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.snapshot import IndexView, InstanceView, RouterSnapshot

NOW = 1000.0

parse_openmetrics: Callable[[str], Iterable[Metric]] = parser.text_string_to_metric_families
"""The library's parser, with the types it lacks."""


def config_of(*names: str, slo: Targets | None = None, decisions: int = 0) -> RouterConfig:
    """One workload of each name, the first of them the default."""
    workloads = tuple(
        Workload(name=name, default=number == 0, slo=slo or Targets())
        for number, name in enumerate(names)
    )
    debug = {"decisions": decisions}
    return RouterConfig.model_validate({"policy": Policy(workloads=workloads), "debug": debug})


def observer_of(*names: str, slo: Targets | None = None, decisions: int = 0) -> Observer:
    config = config_of(*names, slo=slo, decisions=decisions)
    return Observer(config, Windows(config.policy), NOW)


def served(workload: str = "chat", instance: str = "a", **changes: Any) -> Outcome:
    """A streamed request that went well."""
    outcome = Outcome(
        workload, instance, status=200, streams=True, attempts=1,
        prompt_tokens=1000, predicted_hit_tokens=600, cached_tokens=500, output_tokens=100,
        score=3000.0, queue_s=0.002, overhead_s=0.0004, ttft_s=0.2, tpot_s=0.02, e2e_s=2.2,
    )  # fmt: skip
    return replace(outcome, **changes)


def instance_of(name: str, **changes: Any) -> InstanceView:
    return replace(InstanceView(name, f"http://{name}:8000"), **changes)


@dataclass
class MadeUp:
    """A `Source` whose snapshot is whatever a test puts there."""

    observer: Observer
    now: RouterSnapshot = field(
        default_factory=lambda: RouterSnapshot(
            revision="0123456789ab",
            index=IndexView(blocks=10, holders=20, bytes=3000, budget_evictions=4),
            instances=(instance_of("a"), instance_of("b")),
        )
    )

    def snapshot(self, now: float) -> RouterSnapshot:
        return self.now
