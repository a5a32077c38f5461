from dataclasses import replace
from typing import Any

import orjson
import pytest
from support.observed import NOW, MadeUp, config_of, instance_of, observer_of, served

from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.alerts.window import Windows
from steelyard_router.config import Targets, Workload
from steelyard_router.observability.snapshot import RouterSnapshot
from steelyard_router.observability.status import status

WALL = 1_700_000_000.0


class Unknown:
    """A sum that lacks a replica."""

    def snapshot(self, metric: str, workload: str, window_s: float, now: float) -> None:
        return None


def document(source: MadeUp, now: float = NOW) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(
        orjson.dumps(status(source.snapshot(now), source.observer, now, WALL))
    )
    return found


@pytest.fixture
def source() -> MadeUp:
    source = MadeUp(observer_of("chat", "code", slo=Targets(ttft_ms=500)))
    for ttft_s in (0.1, 0.2, 0.3, 0.9):
        source.observer.finished(served(ttft_s=ttft_s), NOW)
    source.observer.finished(served(workload="code", result="timeout", status=504), NOW)
    source.observer.retried("connect")
    return source


def test_the_document_has_the_keys_that_clients_rely_on(source: MadeUp) -> None:
    found = document(source, NOW + 12.5)

    assert found["revision"] == "0123456789ab"
    assert found["uptime_s"] == 12.5
    assert (found["ready"], found["draining"], found["config_error"]) == (True, False, None)
    assert (found["leases_held"], found["running"], found["waiting"]) == (0, 0, 0)
    assert found["index"] == {"blocks": 10, "holders": 20, "bytes": 3000, "budget_evictions": 4}
    assert {"instances", "alerts", "workloads", "totals"} < set(found)


def test_an_instance_shows_its_load_and_its_health(source: MadeUp) -> None:
    source.now = RouterSnapshot(
        revision="1",
        instances=(
            instance_of("a", queued_tokens=1234.6, requests=3, context_tokens=4000.2, leases=3,
                        index_blocks=5, models=("m", "adapter")),
            instance_of("b", healthy=False, breaker="open", limit=0, state="draining"),
        ),
    )  # fmt: skip
    first, second = document(source)["instances"]

    assert first == {
        "id": "a", "url": "http://a:8000", "state": "ready", "usable": True, "healthy": True,
        "breaker": "closed", "limit": None, "width": None, "queued_tokens": 1235, "requests": 3,
        "context_tokens": 4000, "index_blocks": 5, "leases": 3, "models": ["adapter", "m"],
    }  # fmt: skip
    assert (second["usable"], second["limit"], second["state"]) == (False, 0, "draining")


def test_a_workload_shows_quantiles_and_attainment(source: MadeUp) -> None:
    chat, code = document(source)["workloads"]

    assert (chat["name"], chat["requests"], chat["attainment_percent"]) == ("chat", 4, 75)
    assert chat["ttft_ms"]["count"] == 4
    assert chat["ttft_ms"]["p50"] == pytest.approx(200, rel=0.02)
    assert chat["ttft_ms"]["p99"] == pytest.approx(900, rel=0.02)
    assert chat["score"]["p95"] == pytest.approx(3000, rel=0.02)
    assert {"tpot_ms", "e2e_ms"} < set(chat)
    assert code["attainment_percent"] == 0


def test_a_router_that_does_not_judge_has_no_figures_of_the_service(source: MadeUp) -> None:
    source.now = replace(source.now, holder=False)

    assert document(source)["service"] is None


def test_the_services_figures_stand_beside_the_routers_own(source: MadeUp) -> None:
    """Another replica has had nothing but misses."""
    whole = Windows(config_of("chat").policy)
    whole.record("chat", "Score", 9000.0, NOW)
    for ok in (True, True, True, False, False, False):
        whole.met("chat", ok=ok, now=NOW)
    chat = Workload(name="chat", slo=Targets(ttft_ms=500, attainment_percent=99))
    workloads = (chat, Workload(name="code"))
    source.now = replace(source.now, service=ServiceFigures(whole, 2, workloads))

    found = document(source)

    assert found["workloads"][0]["attainment_percent"] == 75
    assert found["service"]["replicas"] == 2
    first, second = found["service"]["workloads"]
    assert set(first) == {
        "name", "attainment_percent", "attainment_target_percent", "score",
    }  # fmt: skip
    assert (first["name"], first["attainment_percent"]) == ("chat", 50)
    assert first["attainment_target_percent"] == 99
    assert set(first["score"]) == {"count", "mean", "p50", "p95", "p99"}
    assert first["score"]["p95"] == pytest.approx(9000, rel=0.02)
    assert (second["attainment_percent"], second["attainment_target_percent"]) == (None, None)
    assert second["score"]["count"] == 0


def test_a_service_that_is_not_known_has_nulls(source: MadeUp) -> None:
    figures = ServiceFigures(Unknown(), 1, (Workload(name="chat"),))
    source.now = replace(source.now, service=figures)

    (chat,) = document(source)["service"]["workloads"]

    assert chat == {
        "name": "chat", "attainment_percent": None, "attainment_target_percent": None,
        "score": None,
    }  # fmt: skip


def test_totals_are_those_of_the_life_of_the_process(source: MadeUp) -> None:
    source.observer.tidy(set(), NOW)

    assert document(source)["totals"] == {
        "requests": 5, "errors": 1, "retries": 1, "prompt_tokens": 5000, "output_tokens": 500,
        "predicted_hit_tokens": 3000, "cached_tokens": 2500, "hit_ratio": 0.5,
    }  # fmt: skip


def test_an_alert_shows_since_when_as_a_time_of_day(source: MadeUp) -> None:
    alert = {"service": "s", "alert": "slow", "workload": "chat", "metric": "Score",
             "state": "Firing", "since": NOW - 60, "value": 5.0, "threshold": 4.0}  # fmt: skip
    source.now = RouterSnapshot(
        revision="1", alerts=(alert, {**alert, "state": "NoData", "since": None})
    )
    firing, silent = document(source)["alerts"]

    assert firing == {**alert, "since": "2023-11-14T22:12:20.000+00:00"}
    assert silent["since"] is None


def test_an_idle_router_has_a_status_too() -> None:
    found = document(MadeUp(observer_of("chat")))

    assert found["totals"]["hit_ratio"] is None
    assert found["workloads"][0]["attainment_percent"] is None
    assert found["workloads"][0]["ttft_ms"]["p50"] is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"revision": None}, "no configuration is loaded"),
        ({"revision": None, "config_error": "steelyard.yaml:3: port"}, "steelyard.yaml:3: port"),
        ({"draining": True}, "draining"),
        ({"instances": ()}, "names no endpoint"),
        ({"instances": (instance_of("a", healthy=False),)}, "none of the 1 endpoints is usable"),
        ({"instances": (instance_of("a", limit=0.0),)}, "none of the 1 endpoints is usable"),
    ],
)
def test_a_router_that_should_get_no_clients_says_why(changes: dict[str, Any], reason: str) -> None:
    snapshot = RouterSnapshot(**{"revision": "1", "instances": (instance_of("b"),)} | changes)

    assert reason in (snapshot.unready or "")
    assert not snapshot.ready


def test_one_usable_instance_is_enough() -> None:
    instances = (instance_of("a", healthy=False), instance_of("b", limit=1))

    assert RouterSnapshot(revision="1", instances=instances).ready
