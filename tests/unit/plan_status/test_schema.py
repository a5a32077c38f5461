"""Every status is one that the API server takes whole, and says the same of the same."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.crd import misfits, root
from support.manifests import policy, service
from support.seen import (
    NOW,
    Tree,
    deployment,
    ended,
    good_pod,
    pod,
    report,
    router_service,
    running,
    unschedulable,
    waiting,
)

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import plan
from steelyard_operator.plan.status import (
    Observed,
    Refusal,
    StatusPlan,
    Target,
    invalid_service_status,
    policy_status,
    service_status,
)

SERVICE: Tree = root("LLMService")["properties"]["status"]
POLICY: Tree = root("SLOPolicy")["properties"]["status"]


REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def wrong(status: Tree, schema: Tree) -> Iterator[str]:
    """What an API server would refuse."""
    yield from misfits(schema, status)
    for owner in (status, *status.get("ancestors", ())):
        rows = owner["conditions"]
        yield from (
            f"reason {row['reason']}" for row in rows if not REASON.fullmatch(row["reason"])
        )
        if len({row["type"] for row in rows}) < len(rows):
            yield f"a type twice: {rows}"
    names = [use["name"] for use in status.get("policies", ())]
    if len(set(names)) < len(names):
        yield f"a policy twice: {names}"


def condition(status: Tree, kind: str) -> str | None:
    return next((row["status"] for row in status["conditions"] if row["type"] == kind), None)


counts = st.integers(0, 4)
progress = st.sampled_from(
    ["NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded", ""]
)


def deployments(component: str) -> st.SearchStrategy[Tree | None]:
    made = st.builds(
        lambda **parts: deployment(component, **parts),
        desired=counts, ready=counts, updated=counts, replicas=counts, progress=progress,
        refused=st.sampled_from([None, "exceeded quota: gpu", "violates PodSecurity"]),
        observed=st.integers(2, 3), revision=st.integers(1, 2),
    )  # fmt: skip
    return st.none() | made


containers = st.sampled_from(
    [
        None,
        running(),
        running(started=True),
        running(ready=True, started=True),
        running(restartCount=4, lastState=ended(137)),
        waiting("ContainerCreating"),
        waiting("ErrImagePull", "not found " * 200),
        waiting("InvalidImageName"),
        waiting("CreateContainerConfigError", 'secret "x" not found'),
        waiting("CrashLoopBackOff", restartCount=5, lastState=ended(1)),
    ]
)


def pods(component: str) -> st.SearchStrategy[tuple[Tree, ...]]:
    some = st.builds(
        lambda name, age_s, container: pod(
            f"{component}-{name}", component=component, age_s=age_s, container=container
        ),
        st.integers(0, 3), st.sampled_from([1, 100, 4000]), containers,
    )  # fmt: skip
    whole = st.sampled_from([good_pod("up"), unschedulable("no room", "late"), {}])
    return st.lists(some | whole, max_size=3).map(tuple)


def row(state: str, value: float | None) -> Tree:
    since = NOW - timedelta(seconds=30)
    head = {"service": "chat", "alert": "a", "workload": "all"}
    return {**head, "state": state, "value": value, "since": since.isoformat()}


def shares(percent: float | None, target: object) -> Tree:
    measured = {"attainment_percent": percent, "attainment_target_percent": target}
    return {"replicas": 1, "workloads": [{"name": "all", **measured, "score": None}]}


def drift(monitor: str, lasting: object, where: list[str]) -> Tree:
    return {"drift": [{"monitor": monitor, "lasting": lasting, "where": where}]}


drifts = st.none() | st.builds(
    drift, st.sampled_from(["clock", "error", "input", "another"]), st.sampled_from([True, False]),
    st.lists(st.sampled_from(["a", "b", "10.0.0.1:8000" * 200]), max_size=3),
)  # fmt: skip
values = st.none() | st.floats(0, 1e12)
targets = st.none() | st.integers(1, 100) | st.just("99")
statuses = st.fixed_dictionaries(
    {},
    optional={
        "instances": st.lists(st.builds(lambda u: {"usable": u, "models": ["m"]}, st.booleans())),
        "alerts": st.lists(
            st.builds(row, st.sampled_from(["OK", "Firing", "NoData", "Pending"]), values),
            max_size=1,
        ),
        "workloads": st.lists(
            st.builds(
                lambda p95, percent: {
                    "name": "all",
                    "score": {"p95": p95},
                    "attainment_percent": percent,
                },
                values,
                st.none() | st.floats(0, 100),
            ),
            max_size=1,
        ),
        "service": st.none() | st.builds(shares, st.none() | st.floats(0, 100), targets),
        "prediction": drifts,
        "unready_reason": st.sampled_from([None, "no endpoint"]),
        "policy_ref": st.just({"name": "fast", "uid": "uid-fast"}),
        "shadow": st.none() | st.just({"name": "fast", "uid": "uid-fast", "alerts": []}),
    },
)
reports = st.lists(
    st.builds(
        lambda name, revision, ready, reachable, error, status: report(
            name, revision=revision, ready=ready, reachable=reachable, config_error=error, **status
        ),
        st.sampled_from(["router-0", "router-1"]), st.sampled_from(["abc", "old", None]),
        st.booleans(), st.booleans(), st.sampled_from([None, None, "bad"]), statuses,
    ),
    max_size=3,
).map(tuple)  # fmt: skip


@st.composite
def observations(draw: st.DrawFn) -> Observed:
    made = {name: draw(deployments(name)) for name in ("engine", "router")}
    refusal = st.builds(Refusal, st.sampled_from([0, 403, 409, 422, 500]), st.just(""), st.text())
    return Observed(
        deployments={name: item for name, item in made.items() if item is not None},
        pods={name: draw(pods(name)) for name in ("engine", "router")},
        services=draw(st.sampled_from([{}, {"router": router_service(81)}])),
        apply_errors=draw(
            st.dictionaries(st.just(("Deployment", "chat-engine")), refusal, max_size=1)
        ),
        conflicts=draw(st.sampled_from([(), ({"kind": "Service", "metadata": {"name": "x"}},)])),
        reports=draw(reports),
        revision=draw(st.sampled_from([None, "abc"])),
    )


HF = {"uri": "hf://org/model"}
services = st.sampled_from(
    [
        service(),
        service(reconciliation="Paused"),
        service(engine={"type": "VLLM"}, model=HF),
        service(engine={"type": "External", "urls": ["http://a:1"]}),
    ]
)


def settled(made: LLMService, observed: Observed) -> StatusPlan:
    planned = plan([made], [policy(), policy("next")]).services[0]
    return service_status(made, planned, observed, now=NOW)


@settings(max_examples=40)
@given(services, st.lists(observations(), min_size=1, max_size=3))
def test_a_service_status_fits_its_schema_and_the_same_again_changes_nothing(
    made: LLMService, history: list[Observed]
) -> None:
    for observed in history:
        found = settled(made, observed)
        made = made.model_copy(update={"status": found.status})
        again = settled(made, observed)

        status = found.status
        assert list(wrong(status, SERVICE)) == []
        assert again.status == status
        assert again.events == ()
        stalled, moving = condition(status, "Stalled"), condition(status, "Reconciling")
        assert stalled is None or moving is None
        assert {stalled, moving} <= {None, "True"}
        assert all(event.message and len(event.occurrence) < 4096 for event in found.events)


@settings(max_examples=40)
@given(services, observations())
def test_a_service_is_not_ready_without_pods_or_while_it_is_stalled(
    made: LLMService, observed: Observed
) -> None:
    status = settled(made, observed).status

    stalled = next((row for row in status["conditions"] if row["type"] == "Stalled"), None)
    if stalled is not None and stalled["reason"] != "ConfigReloadFailed":
        assert condition(status, "Ready") != "True"
    if condition(status, "Ready") == "True":
        assert condition(status, "EngineAvailable") == "True"
        assert condition(status, "RouterAvailable") == "True"


@settings(max_examples=40)
@given(services, observations())
def test_a_service_that_can_no_longer_be_read_keeps_a_status_that_fits(
    made: LLMService, observed: Observed
) -> None:
    live = {"metadata": {"generation": 9}, "status": settled(made, observed).status}

    status = invalid_service_status(live, "spec: wrong", now=NOW).status

    assert list(wrong(status, SERVICE)) == []
    assert (
        invalid_service_status({**live, "status": status}, "spec: wrong", now=NOW).status == status
    )


def known(name: str, **more: Any) -> SLOPolicy:
    made = policy(name, **more)
    head = made.metadata.model_copy(update={"uid": f"uid-{name}", "generation": 2})
    return made.model_copy(update={"metadata": head})


modes = st.sampled_from(["Enforce", "DryRun"])
policies = st.lists(
    st.builds(
        lambda mode, targets, created: known("fast", mode=mode, targets=targets, created=created),
        modes, st.sampled_from([("chat",), ("chat", "gone"), ("gone",)]),
        st.sampled_from([None, "2026-01-01T00:00:00Z"]),
    ),
    min_size=1, max_size=1,
).flatmap(
    lambda first: st.lists(st.builds(lambda mode: known("rival", mode=mode), modes), max_size=1)
    .map(lambda more: [*first, *more])
)  # fmt: skip


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(policies, st.sampled_from(["abc", "new", None]), reports), min_size=1, max_size=3
    )
)
def test_a_policy_status_fits_its_schema_and_the_same_again_changes_nothing(
    history: list[tuple[list[SLOPolicy], str | None, Any]],
) -> None:
    stored: Tree = {"observedGeneration": -1}
    for found, revision, seen in history:
        result = plan([service()], found).policies[0]
        targets = {"chat": Target(revision, seen)}

        made = policy_status(result, stored, targets, now=NOW)
        again = policy_status(result, made.status, targets, now=NOW)

        assert list(wrong(made.status, POLICY)) == []
        assert again.status == made.status
        assert again.events == ()
        status, stored = made.status, made.status
        stalled, moving = condition(status, "Stalled"), condition(status, "Reconciling")
        assert stalled is None or moving is None
        if condition(status, "Ready") == "True":
            assert condition(status, "Accepted") == condition(status, "Programmed") == "True"


def test_a_steady_state_stays_the_same_for_hours() -> None:
    observed = Observed(
        deployments={"engine": deployment(), "router": deployment("router")},
        services={"router": router_service()},
        reports=(report(workloads=[{"name": "all", "score": {"p95": 900.0}}]),),
        revision="abc",
    )
    made, found = service(), []
    for hours in range(3):
        planned = plan([made], []).services[0]
        seen = service_status(made, planned, observed, now=NOW + timedelta(hours=hours))
        made = made.model_copy(update={"status": seen.status})
        found.append(seen)

    assert all(one.status == two.status for one, two in pairwise(found))
    assert [seen.events for seen in found] == [(), (), ()]
