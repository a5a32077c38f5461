"""Objects as a user would write them, with the few fields that tests vary."""

from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]
API = "steelyard.io/v1alpha1"


def simulated(
    name: str,
    *,
    replicas: int | None = None,
    args: Sequence[str] = (),
    routers: int | None = None,
    grace_s: int | None = None,
) -> Object:
    """An LLMService with simulated engines."""
    engine: Object = {"type": "Simulator", "args": list(args)}
    if grace_s is not None:
        engine["drain"] = {"gracePeriodSeconds": grace_s}
    spec: Object = {"engine": engine}
    if replicas is not None:
        spec["replicas"] = replicas
    if routers is not None:
        spec["router"] = {"replicas": routers}
    return {"apiVersion": API, "kind": "LLMService", "metadata": {"name": name}, "spec": spec}


def external(name: str, *, service: str, port: int | str, routers: int | None = None) -> Object:
    """An LLMService in front of engines that somebody else runs."""
    spec: Object = {
        "engine": {"type": "External", "serviceRef": {"name": service, "port": port}},
        "router": {} if routers is None else {"replicas": routers},
    }
    return {"apiVersion": API, "kind": "LLMService", "metadata": {"name": name}, "spec": spec}


def policy(
    name: str,
    *targets: str,
    routing: Mapping[str, Any] | None = None,
    ttft_ms: int = 500,
    alerts: Sequence[Mapping[str, Any]] = (),
    mode: str | None = None,
) -> Object:
    """An SLOPolicy with one workload, called `chat`."""
    workload: Object = {
        "name": "chat",
        "default": True,
        "slo": {"ttftMilliseconds": ttft_ms, "tpotMilliseconds": 50},
    }
    if routing is not None:
        workload["routing"] = dict(routing)
    spec: Object = {"targetRefs": [{"name": target} for target in targets], "workloads": [workload]}
    if alerts:
        spec["alerts"] = [dict(alert) for alert in alerts]
    if mode is not None:
        spec["mode"] = mode
    return {"apiVersion": API, "kind": "SLOPolicy", "metadata": {"name": name}, "spec": spec}


def own_engines(name: str, *, replicas: int, image: str) -> tuple[Object, Object]:
    """A Deployment of simulated engines and its Service, made without any operator."""
    labels = {"app": name}
    container: Object = {
        "name": "server",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["engine", "--host", "0.0.0.0", "--port", "8000", "--model", "llama"],
        "ports": [{"name": "api", "containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": "api"}, "periodSeconds": 1},
    }
    deployment: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
            },
        },
    }
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": labels, "ports": [{"name": "api", "port": 80, "targetPort": "api"}]},
    }
    return deployment, service


def condition(item: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of that type; empty if there is none."""
    conditions = (item.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def is_true(item: Mapping[str, Any], kind: str) -> bool:
    """Whether the condition is True for the newest generation."""
    observed = (item.get("status") or {}).get("observedGeneration")
    current: bool = observed == item["metadata"]["generation"]
    return current and condition(item, kind).get("status") == "True"
