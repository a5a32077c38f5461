"""The status of a service out of what was seen of it, and short ways to read it."""

from typing import Any

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import plan
from steelyard_operator.plan.status import Observed, StatusPlan, service_status

from .manifests import service
from .seen import NOW, Tree, deployment, ended, pod, report, router_service, waiting

SCHEDULER = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def crashing(restarts: int = 3) -> Tree:
    return pod(
        "chat-engine-bad",
        container=waiting("CrashLoopBackOff", restartCount=restarts, lastState=ended(1)),
    )


def seen(
    engine: Tree | None = None, *pods: Tree, router: Tree | None = None, **more: Any
) -> Observed:
    """A service whose routers are well."""
    return Observed(
        deployments={
            "engine": engine or deployment(),
            "router": router or deployment("router"),
        },
        pods={"engine": pods, **more.pop("pods", {})},
        services={"router": router_service()},
        reports=more.pop("reports", (report("chat-router-1"), report("chat-router-2"))),
        revision=more.pop("revision", "abc"),
        **more,
    )


def judged(observed: Observed, made: LLMService | None = None, **spec: Any) -> StatusPlan:
    made = made or service(replicas=2, **spec)
    return service_status(made, plan([made], []).services[0], observed, now=NOW)


def conditions(made: StatusPlan) -> dict[str, tuple[str, str]]:
    return {row["type"]: (row["status"], row["reason"]) for row in made.status["conditions"]}


def message(made: StatusPlan, kind: str = "Ready") -> str:
    found: str = next(row for row in made.status["conditions"] if row["type"] == kind)["message"]
    return found


def first_rollout(*pods: Tree, **more: Any) -> Tree:
    return deployment(ready=0, progress="ReplicaSetUpdated", **more)
