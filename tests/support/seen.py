"""Live objects as an API server has them: Deployments, pods in each of their troubles, reports."""

from datetime import UTC, datetime, timedelta
from typing import Any

from steelyard_operator.plan.status import RouterReport

Tree = dict[str, Any]

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def deployment(
    component: str = "engine",
    *,
    desired: int = 2,
    ready: int | None = None,
    updated: int | None = None,
    replicas: int | None = None,
    progress: str = "NewReplicaSetAvailable",
    message: str = "",
    refused: str | None = None,
    generation: int = 3,
    observed: int | None = None,
    revision: int = 1,
) -> Tree:
    """By default as after a finished rollout."""
    there = desired if replicas is None else replicas
    up = there if ready is None else ready
    conditions = [
        {
            "type": "Progressing",
            "status": "False" if progress == "ProgressDeadlineExceeded" else "True",
            "reason": progress,
            "message": message or f'ReplicaSet "chat-{component}-5d8c7" is progressing.',
        }
    ]
    if refused is not None:
        failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
        conditions.append({**failure, "message": refused})
    labels = {"steelyard.io/service": "chat", "steelyard.io/component": component}
    surge = {"maxSurge": 0, "maxUnavailable": 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"chat-{component}",
            "namespace": "default",
            "uid": f"uid-{component}",
            "generation": generation,
            "annotations": {"steelyard.io/restart-hash": f"template-{revision}"},
        },
        "spec": {
            "replicas": desired,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": surge},
        },
        "status": {
            "observedGeneration": generation if observed is None else observed,
            "replicas": there,
            "updatedReplicas": there if updated is None else updated,
            "readyReplicas": up,
            "availableReplicas": up,
            "conditions": conditions,
        },
    }


def pod(
    name: str = "chat-engine-5d8c7-x2x9p",
    *,
    component: str = "engine",
    age_s: float = 30,
    node: str | None = "node-1",
    phase: str = "Pending",
    ready: bool = False,
    container: Tree | None = None,
    conditions: tuple[Tree, ...] = (),
    **status: object,
) -> Tree:
    """One pod; `container` is the status of its main container."""
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(age_s)}
    state = {"type": "Ready", "status": str(ready), "lastTransitionTime": ago(age_s)}
    own = {item["type"] for item in conditions}
    base = [item for item in (placed, state) if item["type"] not in own]
    statuses = [] if container is None else [{"name": component, "restartCount": 0, **container}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": ago(age_s + 1),
        },
        "spec": {"containers": [{"name": component}], **({"nodeName": node} if node else {})},
        "status": {
            "phase": phase,
            "startTime": ago(age_s),
            "conditions": [*base, *conditions],
            "containerStatuses": statuses,
            **status,
        },
    }


def waiting(reason: str, message: str = "", **more: object) -> Tree:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"ready": False, "started": False, "state": state, **more}


def running(*, ready: bool = False, started: bool = False, **more: object) -> Tree:
    state = {"running": {"startedAt": ago(20)}}
    return {"ready": ready, "started": started, "state": state, **more}


def ended(code: int = 1, reason: str = "Error", *, seconds_ago: float = 10, **more: object) -> Tree:
    return {
        "terminated": {"exitCode": code, "reason": reason, "finishedAt": ago(seconds_ago), **more}
    }


def unschedulable(message: str, name: str = "chat-engine-5d8c7-x2x9p") -> Tree:
    placed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    condition = {**placed, "message": message, "lastTransitionTime": ago(30)}
    return pod(name, node=None, conditions=(condition,))


def good_pod(name: str, component: str = "engine") -> Tree:
    up = running(ready=True, started=True)
    return pod(name, component=component, phase="Running", ready=True, container=up)


def router_service(port: int = 80) -> Tree:
    return {
        "metadata": {"name": "chat-router", "namespace": "default"},
        "spec": {"ports": [{"name": "http", "port": port, "targetPort": "http"}]},
    }


CALM: Tree = {
    "drift": [
        {"monitor": name, "state": "OK", "lasting": False, "what": [], "where": []}
        for name in ("error", "clock", "input")
    ]
}
"""What a router says of predictions that fit."""


def report(
    pod_name: str = "chat-router-1",
    *,
    revision: str | None = "abc",
    ready: bool = True,
    reachable: bool = True,
    config_error: str | None = None,
    **status: object,
) -> RouterReport:
    """The holder's, unless holder=False is said; nothing drifts, unless `prediction` is said."""
    status = {"prediction": CALM, **status}
    holds = bool(status.pop("holder", True)) and reachable
    return RouterReport(
        pod=pod_name,
        revision=revision if reachable else None,
        ready=ready,
        holder=holds,
        config_error=config_error,
        status={"revision": revision, "holder": holds, **status} if reachable else {},
        reachable=reachable,
    )
