"""What an LLMService's status holds beside its conditions; engines that someone else runs."""

from typing import Any

import pytest
from support.manifests import policy, service
from support.seen import (
    NOW,
    Tree,
    ago,
    deployment,
    pod,
    report,
    router_service,
    running,
)
from support.service_status import (
    conditions,
    first_rollout,
    judged,
    seen,
)

from steelyard_operator.plan import plan
from steelyard_operator.plan.status import (
    Observed,
    StatusPlan,
    service_status,
)


def test_the_status_has_the_figures_of_both_components() -> None:
    status = judged(seen(deployment(desired=3, ready=2))).status

    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (3, 2, 3)
    assert status["desiredReplicas"] == 3
    assert status["selector"] == "steelyard.io/component=engine,steelyard.io/service=chat"
    assert status["router"] == {"replicas": 2, "readyReplicas": 2, "revision": "abc"}
    assert status["model"] == "chat"
    assert status["url"] == "http://chat-router.default.svc"


def test_another_port_is_part_of_the_url() -> None:
    observed = Observed(services={"router": router_service(8443)})

    assert judged(observed).status["url"] == "http://chat-router.default.svc:8443"


def test_the_routers_revision_is_left_out_while_they_differ() -> None:
    two = (report("a"), report("b", revision="old", holder=False))

    assert "revision" not in judged(seen(reports=two)).status["router"]


EXTERNAL = {"type": "External", "serviceRef": {"name": "gpu", "port": 8000}}


def external(*reports: Any) -> StatusPlan:
    made = service(engine=EXTERNAL)
    observed = Observed(
        deployments={"router": deployment("router")},
        services={"router": router_service()},
        reports=reports,
        revision="abc",
    )
    return judged(observed, made)


def instance(name: str, *, usable: bool, models: tuple[str, ...] = ("m",)) -> Tree:
    return {"id": name, "usable": usable, "models": list(models)}


def test_engines_that_someone_else_runs_are_available_when_a_router_can_use_one() -> None:
    seen_by = report(instances=[instance("a", usable=True), instance("b", usable=False)])

    made = external(seen_by)

    assert conditions(made)["EngineAvailable"] == ("True", "Available")
    assert (made.status["replicas"], made.status["readyReplicas"]) == (2, 1)
    assert made.status["model"] == "m"
    assert "selector" not in made.status


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ((), ("Unknown", "NotReported")),
        ((report(reachable=False),), ("Unknown", "NotReported")),
        ((report(instances=[]),), ("False", "NoInstance")),
        ((report(instances=[instance("a", usable=False)]),), ("False", "NoUsableInstance")),
    ],
)
def test_engines_that_no_router_can_use_are_not_available(
    reports: Any, expected: tuple[str, str]
) -> None:
    found = conditions(external(*reports))

    assert found["EngineAvailable"] == expected
    assert found["Ready"] == expected


def test_the_service_lists_the_policies_that_name_it_and_what_became_of_them() -> None:
    made = service()
    planned = plan(
        [made],
        [
            policy("old", created="2026-01-01T00:00:00Z"),
            policy("young"),
            policy("next", mode="DryRun"),
            policy("elsewhere", targets=("other",)),
        ],
    )

    status = service_status(made, planned.services[0], seen(), now=NOW).status

    assert status["policies"] == [
        {"name": "old", "effective": True, "reason": "Accepted"},
        {"name": "next", "effective": False, "reason": "DryRun"},
        {"name": "young", "effective": False, "reason": "Conflicted"},
    ]


def score(value: float | None) -> dict[str, Any]:
    """Of the service; this replica's own scores are higher."""
    low = {"name": "batch", "score": {"p95": 10.0}}
    unknown = {"name": "code", "score": None}
    rows = [low, unknown, {"name": "chat", "score": {"p95": value}}]
    own = [{"name": "chat", "score": {"p95": 1e9}}]
    return {"workloads": own, "service": {"replicas": 2, "workloads": rows}}


@pytest.mark.parametrize(
    ("before", "after_s", "value", "expected"),
    [
        (None, 0, 900.4, 900),
        (1000, 90, 1200.0, 1200),
        (1000, 90, 1050.0, 1000),
        (1000, 30, 9000.0, 1000),
    ],
)
def test_the_p95_score_is_rewritten_when_it_moved_and_the_last_write_is_old(
    before: int | None, after_s: float, value: float, expected: int
) -> None:
    made = service()
    if before is not None:
        old = {"p95Score": before, "measuredTime": ago(after_s)}
        made = made.model_copy(update={"status": old})

    status = judged(seen(reports=(report(**score(value)),)), made).status

    assert status["p95Score"] == expected
    assert (status["measuredTime"] == ago(0)) == (before != expected)


def test_a_router_that_has_no_score_of_the_service_gives_its_own() -> None:
    older = report(workloads=[{"name": "chat", "score": {"p95": 900.0}}])

    assert judged(seen(reports=(older,))).status["p95Score"] == 900


def test_the_p95_score_stays_while_a_new_holder_has_not_heard_the_others() -> None:
    old = {"p95Score": 1000, "measuredTime": ago(90)}
    made = service().model_copy(update={"status": old})

    status = judged(seen(reports=(report(**{**score(5.0), "service": None}),)), made).status

    assert (status["p95Score"], status["measuredTime"]) == (1000, ago(90))


def test_a_report_of_a_replica_that_does_not_hold_the_lease_gives_no_figure() -> None:
    status = judged(seen(reports=(report(holder=False, **score(5.0)),))).status

    assert "p95Score" not in status


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (seen(), 60.0),
        (seen(revision="new"), 5.0),
        (seen(first_rollout(), pod(container=running())), 10.0),
        (seen(deployment(desired=0), reports=()), None),
    ],
)
def test_it_looks_again_soon_only_while_something_moves_that_is_not_watched(
    observed: Observed, expected: float | None
) -> None:
    assert judged(observed).requeue_s == expected
