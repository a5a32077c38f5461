"""What tools that follow kstatus (Flux, Argo CD, cli-utils) make of our statuses."""

from typing import Any

import pytest
from support.manifests import policy, service
from support.seen import (
    NOW,
    Tree,
    deployment,
    ended,
    pod,
    report,
    running,
    unschedulable,
    waiting,
)
from support.service_status import first_rollout, judged, seen

from steelyard_operator.plan import plan
from steelyard_operator.plan.status import Observed, Target, policy_status


def kstatus(status: Tree, generation: int) -> str:
    """The generic rules of cli-utils, in their order."""
    if status.get("observedGeneration", generation) != generation:
        return "InProgress"
    found = {row["type"]: row["status"] for row in status.get("conditions", ())}
    if found.get("Reconciling") == "True":
        return "InProgress"
    if found.get("Stalled") == "True":
        return "Failed"
    return {"True": "Current", None: "Current"}.get(found.get("Ready"), "InProgress")


BAD = waiting("CrashLoopBackOff", restartCount=3, lastState=ended(1))
ROLLING = deployment(ready=1, updated=1, progress="ReplicaSetUpdated")
FIRING = {"service": "chat", "alert": "a", "workload": "all", "state": "Firing", "value": 1.0}

DRIFT = {"drift": [{"monitor": "clock", "lasting": True, "where": ["a"]}]}

SERVICE: dict[str, tuple[Observed, str]] = {
    "well": (seen(), "Current"),
    "loading": (seen(first_rollout(), pod(container=running())), "InProgress"),
    "updating with enough replicas": (seen(ROLLING, pod(container=running())), "InProgress"),
    "crashing": (seen(first_rollout(), pod(container=BAD)), "Failed"),
    "no room yet": (seen(first_rollout(), unschedulable("no room")), "InProgress"),
    "out of time": (seen(deployment(ready=0, progress="ProgressDeadlineExceeded")), "Failed"),
    "a name that is taken": (
        seen(conflicts=({"kind": "Service", "metadata": {"name": "chat-router"}},)),
        "Failed",
    ),
    "an alert fires": (seen(reports=(report(alerts=[FIRING]),)), "Current"),
    "predictions drift": (seen(reports=(report(prediction=DRIFT),)), "Current"),
}


@pytest.mark.parametrize("what", SERVICE)
def test_tools_see_a_service_as_it_is(what: str) -> None:
    observed, expected = SERVICE[what]

    assert kstatus(judged(observed).status, 0) == expected


def test_tools_wait_for_an_object_that_was_never_seen() -> None:
    assert kstatus({"observedGeneration": -1}, 1) == "InProgress"


def says(**more: Any) -> Target:
    return Target("abc", (report(policy_ref={"name": "fast", "uid": "u"}, **more),))


POLICY: dict[str, tuple[tuple[str, ...], Target, str]] = {
    "programmed": (("chat",), says(), "Current"),
    "an alert fires": (("chat",), says(alerts=[FIRING]), "Current"),
    "about to be loaded": (("chat",), says(revision="old"), "InProgress"),
    "refused by a router": (("chat",), says(revision="old", config_error="bad"), "Failed"),
    "a router does not answer": (("chat",), says(reachable=False), "InProgress"),
    "before its service": (("later",), says(), "InProgress"),
}


@pytest.mark.parametrize("what", POLICY)
def test_tools_see_a_policy_as_it_is(what: str) -> None:
    targets, target, expected = POLICY[what]
    made = policy(targets=targets)
    head = made.metadata.model_copy(update={"uid": "u", "generation": 1})
    made = made.model_copy(update={"metadata": head})
    result = plan([service()], [made]).policies[0]

    assert kstatus(policy_status(result, None, {"chat": target}, now=NOW).status, 1) == expected
