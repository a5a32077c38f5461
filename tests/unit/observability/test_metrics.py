import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import prometheus_client
import pytest
from prometheus_client.exposition import choose_encoder, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families as parse_text
from support.observed import (
    NOW,
    MadeUp,
    config_of,
    instance_of,
    observer_of,
    parse_openmetrics,
    served,
)

from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.alerts.window import Windows
from steelyard_router.config import Targets, Workload
from steelyard_router.observability.metrics import BREAKER_LEVELS, Metrics
from steelyard_router.observability.observer import MAX_LINGERING
from steelyard_router.observability.series import MAX_INSTANCES, OTHER
from steelyard_router.observability.snapshot import RouterSnapshot
from steelyard_router.proxy.breaker import BreakerState

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
UNITS = (
    "_seconds",
    "_bytes",
    "_tokens",
    "_requests",
    "_blocks",
    "_reloads",
    "_retries",
    "_evictions",
    "_ratio",
)
WITHOUT_UNIT = {
    "steelyard_score",  # tokens x requests: no unit has a name
    "steelyard_leases_held",
    "steelyard_requests_running",
    "steelyard_requests_waiting",
    "steelyard_line_waiting",
    "steelyard_line_yielding",
    "steelyard_line_would_wait",
    "steelyard_instance_width_sequences",
    "steelyard_breaker_state",
    "steelyard_prediction_drift",
    "steelyard_instance_usable",
    "steelyard_ready",
    "steelyard_alert_firing",
    "steelyard_alert_holder",
    "steelyard_alert_events_posted",
    "steelyard_alert_events_dropped",
    "steelyard_config",
}
"""Counts of what they name, states and flags."""


@pytest.fixture
def source() -> MadeUp:
    source = MadeUp(observer_of("chat", "code"))
    source.observer.finished(served(), NOW)
    source.observer.finished(
        served(workload="code", instance="b", result="timeout", status=504), NOW
    )
    source.observer.retried("connect")
    return source


def registry_of(source: MadeUp) -> prometheus_client.CollectorRegistry:
    return Metrics(source, lambda: NOW).registry


def value(source: MadeUp, name: str, **labels: str) -> float | None:
    return registry_of(source).get_sample_value(name, labels)


def families(source: MadeUp) -> Iterator[Metric]:
    return Metrics(source, lambda: NOW).collect()


def ours(families: Iterable[Metric]) -> set[tuple[str, str, float]]:
    return {
        (sample.name, str(sorted(sample.labels.items())), sample.value)
        for family in families
        for sample in family.samples
        if family.name.startswith("steelyard_")
    }


def test_both_text_formats_parse_and_say_the_same(source: MadeUp) -> None:
    registry = registry_of(source)
    text = ours(parse_text(generate_latest(registry).decode()))
    openmetrics = ours(parse_openmetrics(choose_encoder(OPENMETRICS)[0](registry).decode()))

    assert text == openmetrics
    assert len(text) > 100


def test_requests_are_counted_by_workload_instance_result_and_class_of_status(
    source: MadeUp,
) -> None:
    name = "steelyard_requests_total"
    assert value(source, name, workload="chat", instance="a", result="ok", code="2xx") == 1
    assert value(source, name, workload="code", instance="b", result="timeout", code="5xx") == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("steelyard_prompt_tokens_total", 1000),
        ("steelyard_predicted_hit_tokens_total", 600),
        ("steelyard_cached_tokens_total", 500),
        ("steelyard_reported_prompt_tokens_total", 1000),
        ("steelyard_output_tokens_total", 100),
        ("steelyard_request_ttft_seconds_sum", 0.2),
        ("steelyard_request_tpot_seconds_sum", 0.02),
        ("steelyard_request_e2e_seconds_sum", 2.2),
    ],
)
def test_what_requests_took_is_exported_by_workload_and_instance(
    source: MadeUp, name: str, expected: float
) -> None:
    assert value(source, name, workload="chat", instance="a") == expected


def test_histograms_are_cumulative_and_end_at_their_count(source: MadeUp) -> None:
    def below(bound: str) -> float | None:
        labels = {"workload": "chat", "instance": "a", "le": bound}
        return value(source, "steelyard_request_ttft_seconds_bucket", **labels)

    source.observer.finished(served(ttft_s=1000.0), NOW)

    assert [below(bound) for bound in ("0.1", "0.25", "60.0", "+Inf")] == [0, 1, 1, 2]
    assert value(source, "steelyard_request_ttft_seconds_count", workload="chat", instance="a") == 2


def test_a_score_lands_in_its_workloads_histogram(source: MadeUp) -> None:
    assert value(source, "steelyard_score_sum", workload="chat") == 3000
    assert value(source, "steelyard_score_bucket", workload="chat", le="3000.0") == 1
    assert value(source, "steelyard_score_bucket", workload="chat", le="1000.0") == 0


def test_the_state_of_the_router_comes_from_the_snapshot(source: MadeUp) -> None:
    source.now = RouterSnapshot(
        revision="cafe", leases_held=3, running=4, waiting=5, in_line=2, yielding=1,
        would_wait={"chat": 7}, index=source.now.index,
        instances=(instance_of(
            "a", queued_tokens=7.5, requests=2, context_tokens=900, breaker="open", limit=0
        ),),
        alerts=({"alert": "slow", "workload": "chat", "state": "Firing"},
                {"alert": "slow", "workload": "code", "state": "OK"}),
        holder=False, events_posted={"SLOAlertFiring": 3}, events_dropped={"SLOAlertResolved": 1},
    )  # fmt: skip
    expected: list[tuple[str, dict[str, str], float]] = [
        ("steelyard_config_info", {"revision": "cafe"}, 1),
        ("steelyard_leases_held", {}, 3),
        ("steelyard_requests_running", {}, 4),
        ("steelyard_requests_waiting", {}, 5),
        ("steelyard_line_waiting", {}, 2),
        ("steelyard_line_yielding", {}, 1),
        ("steelyard_line_would_wait_total", {"workload": "chat"}, 7),
        ("steelyard_index_bytes", {}, 3000),
        ("steelyard_index_blocks", {}, 10),
        ("steelyard_index_budget_evictions_total", {}, 4),
        ("steelyard_instance_queued_prefill_tokens", {"instance": "a"}, 7.5),
        ("steelyard_instance_requests", {"instance": "a"}, 2),
        ("steelyard_instance_context_tokens", {"instance": "a"}, 900),
        ("steelyard_breaker_state", {"instance": "a"}, 3),
        ("steelyard_instance_usable", {"instance": "a"}, 0),
        ("steelyard_ready", {}, 0),
        ("steelyard_alert_firing", {"alert": "slow", "workload": "chat"}, 1),
        ("steelyard_alert_firing", {"alert": "slow", "workload": "code"}, 0),
        ("steelyard_alert_holder", {}, 0),
        ("steelyard_alert_events_posted_total", {"reason": "SLOAlertFiring"}, 3),
        ("steelyard_alert_events_dropped_total", {"reason": "SLOAlertResolved"}, 1),
        ("steelyard_retries_total", {"reason": "connect"}, 1),
        ("steelyard_config_reloads_total", {"result": "ok"}, 0),
        ("steelyard_routing_overhead_seconds_count", {}, 2),
    ]
    registry = registry_of(source)

    assert [
        (n, labels, registry.get_sample_value(n, labels)) for n, labels, _ in expected
    ] == expected


def test_the_attainment_of_the_service_stands_beside_what_it_should_be(source: MadeUp) -> None:
    whole = Windows(config_of("chat", "code").policy)
    for ok in (True, True, True, False):
        whole.met("chat", ok=ok, now=NOW)
    chat = Workload(name="chat", slo=Targets(ttft_ms=500, attainment_percent=99))
    figures = ServiceFigures(whole, 2, (chat, Workload(name="code")))
    source.now = replace(source.now, service=figures)

    assert value(source, "steelyard_workload_attainment_ratio", workload="chat") == 0.75
    assert value(source, "steelyard_workload_attainment_target_ratio", workload="chat") == 0.99
    for name in (
        "steelyard_workload_attainment_ratio",
        "steelyard_workload_attainment_target_ratio",
    ):
        assert value(source, name, workload="code") is None


def test_a_replica_that_does_not_judge_exports_no_attainment(source: MadeUp) -> None:
    names = {family.name for family in families(source)}

    assert not any("attainment" in name for name in names)


def test_every_breaker_state_has_a_level() -> None:
    assert set(BREAKER_LEVELS) == {state.value for state in BreakerState}


def test_process_metrics_stand_beside_ours(source: MadeUp) -> None:
    assert (value(source, "process_resident_memory_bytes") or 0) > 0


def test_nothing_is_registered_globally(source: MadeUp) -> None:
    registry_of(source)

    names = {metric.name for metric in prometheus_client.REGISTRY.collect()}
    assert not any(name.startswith("steelyard") for name in names)


def test_every_name_carries_its_unit_and_every_metric_is_explained(source: MadeUp) -> None:
    whole = ServiceFigures(source.observer.windows, 1, config_of("chat").policy.workloads)
    source.now = replace(source.now, service=whole)
    for family in families(source):
        assert family.name.endswith(UNITS) or family.name in WITHOUT_UNIT, family.name
        assert family.documentation.endswith("."), family.name
        if family.name.endswith(("_seconds", "_bytes")):
            assert family.name.rpartition("_")[2] in family.documentation.lower(), family.name


def test_departed_instances_vanish_from_the_export(source: MadeUp) -> None:
    source.now = RouterSnapshot(revision="1", instances=(instance_of("a"),))

    labels: list[dict[str, Any]] = [s.labels for family in families(source) for s in family.samples]
    assert {found["instance"] for found in labels if "instance" in found} == {"a"}


def test_ten_thousand_random_names_leave_a_bounded_number_of_labels() -> None:
    rng = random.Random(7)
    source = MadeUp(observer_of("chat", "code"))
    for number in range(10_000):
        workload = rng.choice(["chat", "code", f"w-{rng.random()}"])
        outcome = served(
            workload=workload, instance=f"i-{rng.random()}", result=f"r-{rng.random()}"
        )
        source.observer.finished(outcome, NOW)
        source.observer.retried(f"reason-{rng.random()}")
        if number % 100 == 0:
            source.observer.update(config_of("chat", "code", f"w-{rng.random()}"), NOW)
    live = tuple(
        instance_of(name) for (_, name), _ in source.observer.series.items() if name != OTHER
    )
    source.now = RouterSnapshot(revision="1", instances=live)

    labels = [s.labels for family in families(source) for s in family.samples]
    values = {
        key: {found[key] for found in labels if key in found} for key in ("workload", "instance")
    }
    assert len(values["workload"]) <= MAX_LINGERING + 4
    assert len(values["instance"]) <= MAX_INSTANCES + 1
    assert {found["result"] for found in labels if "code" in found} == {OTHER}
    assert sum(f.name == "steelyard_retries" and len(f.samples) for f in families(source)) <= 17
