"""The words that statuses are made of are those that a router's /status really uses."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from support.manifests import policy, service
from support.observed import MadeUp, instance_of, observer_of, served
from support.seen import NOW, deployment, router_service

from steelyard_operator.plan import plan
from steelyard_operator.plan.status import (
    Observed,
    RouterReport,
    StatusPlan,
    Target,
    policy_status,
    service_status,
)
from steelyard_router.alerts.book import AlertBook
from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.cluster.merge import Others
from steelyard_router.cluster.replica import Replica
from steelyard_router.config import Alert, ObjectRef, Policy, Targets, Workload
from steelyard_router.observability.drift import HOLD_S
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.status import status

WALL = NOW.timestamp()
POLICY = Policy(
    workloads=(Workload(name="chat", default=True),),
    alerts=(Alert(name="slow", metric="Score", threshold=10, for_s=0, min_samples=1),),
)


def both(own: Observer) -> ServiceFigures:
    other = observer_of("chat", slo=Targets(ttft_ms=500))
    for _ in range(20):
        other.finished(served(ttft_s=9.0, score=90_000.0), 1000.0)
    others = Others()
    others.follow([Replica("b", "b", ready=True)], 1000.0, keep_s=300)
    others.heard("b", other.measured(1001.0), 1001.0)
    merged = others.merged(own.measured(1001.0), 1001.0)
    slo = Targets(ttft_ms=500, attainment_percent=95)
    return ServiceFigures(merged, 2, (Workload(name="chat", slo=slo),))


def document(**changes: Any) -> RouterReport:
    """What a router says that served twenty requests, under a policy whose alert fires, and one of
    whose instances is slower than it was. Another has served twenty more, all too late.
    """
    observer = observer_of("chat", slo=Targets(ttft_ms=500))
    for _ in range(20):
        observer.finished(served(), 1000.0)
    observer.judge_drift({"a": 2.0, "b": 1.0}, 1001.0 - HOLD_S)
    book = AlertBook(POLICY, "chat")
    book.evaluate(1001.0, observer.windows)
    made = MadeUp(observer)
    made.now = replace(
        made.now,
        alerts=tuple(book.states()),
        instances=(instance_of("a", models=("m",)), instance_of("b", healthy=False)),
        policy_ref=ObjectRef(name="fast", uid="uid-fast"),
        service=both(observer),
        **changes,
    )
    said = orjson.loads(orjson.dumps(status(made.now, observer, 1001.0, WALL)))
    revision = said["revision"]
    return RouterReport("r", revision, ready=True, holder=said["holder"], status=said)


def policys() -> StatusPlan:
    made = policy()
    head = made.metadata.model_copy(update={"uid": "uid-fast", "generation": 1})
    result = plan([service()], [made.model_copy(update={"metadata": head})]).policies[0]
    report = document()
    return policy_status(result, None, {"chat": Target(report.revision, (report,))}, now=NOW)


def test_a_policy_shows_the_alerts_and_the_attainment_of_a_real_document() -> None:
    found = policys().status

    (alert,) = found["alerts"]
    assert (alert["alert"], alert["workload"], alert["state"]) == ("slow", "chat", "Firing")
    assert alert["since"] == "2026-03-01T12:00:00Z"
    assert float(alert["value"]) > 10
    assert found["attainment"] == [
        {"service": "chat", "workload": "chat", "percent": 50, "targetPercent": 95}
    ]
    assert found["ancestors"][0]["programmedReplicas"] == "1/1"


def of_external(report: RouterReport) -> StatusPlan:
    made = service(engine={"type": "External", "urls": ["http://a:8000"]})
    observed = Observed(
        deployments={"router": deployment("router")},
        services={"router": router_service()},
        reports=(report,),
        revision=report.revision,
    )
    return service_status(made, plan([made], []).services[0], observed, now=NOW)


def test_a_service_shows_the_instances_and_the_score_of_a_real_document() -> None:
    found = of_external(document()).status

    assert (found["replicas"], found["readyReplicas"]) == (2, 1)
    assert found["model"] == "m"
    assert found["p95Score"] == pytest.approx(90_000, rel=0.02)


def test_a_service_shows_the_drift_of_a_real_document() -> None:
    found = of_external(document()).status["conditions"]

    (drift,) = (row for row in found if row["type"] == "PredictionDrift")
    assert (drift["status"], drift["reason"]) == ("True", "Clock")
    assert "engines take another time for the same work than they did (a);" in drift["message"]
