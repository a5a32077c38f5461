"""What the operator does about changes that it did not make, and what it leaves alone."""

import time
from collections.abc import Callable

from onenode.kubectl import Object
from scene.cluster import Cluster
from scene.event import counts
from scene.figure import Figures
from scene.manifest import condition, external, policy, simulated
from scene.ready import await_ready, await_reason

CHANGES: dict[tuple[str, str], str] = {
    ("deployment", "chat-engine"): '{"spec":{"replicas":3}}',
    ("deployment", "chat-router"): '{"spec":{"template":{"spec":{"containers":'
    '[{"name":"router","args":["router","--help"]}]}}}}',
    ("service", "chat-router"): '{"spec":{"ports":[{"port":80,"targetPort":1}]}}',
    ("configmap", "chat-router"): '{"data":{"policy.yaml":"{}"}}',
    ("poddisruptionbudget", "chat-engine"): '{"spec":{"maxUnavailable":0}}',
    ("rolebinding", "chat-router"): '{"subjects":[]}',
}
DELETED = (
    "configmap/chat-router", "service/chat-engine", "service/chat-router", "deployment/chat-router",
    "serviceaccount/chat-router", "rolebinding/chat-router", "poddisruptionbudget/chat-router",
    "deployment/chat-engine",
)  # fmt: skip


def wanted(item: Object) -> Object:
    """The part of a child that is the operator's: no status, nothing that the server counts."""
    spec: Object = {
        key: item[key] for key in ("spec", "data", "subjects", "roleRef") if key in item
    }
    return {"labels": item["metadata"].get("labels"), **spec}


def is_again(before: Object) -> Callable[[Object], bool]:
    return lambda now: wanted(now) == before


def is_another_than(uid: str) -> Callable[[Object], bool]:
    return lambda now: now["metadata"]["uid"] != uid


def test_drift_is_repaired(cluster: Cluster, figures: Figures) -> None:
    kubectl = cluster.kubectl
    cluster.records.robbed.add(cluster.namespace)
    manifests = (simulated("chat"), policy("slo", "chat"))
    kubectl.apply(*manifests)
    await_ready(kubectl, "chat", within_s=60)
    await_ready(kubectl, "slo", kind="slopolicy", within_s=60)
    slowest_s = 0.0
    for (kind, name), patch in CHANGES.items():
        before = wanted(kubectl.get(kind, name))
        kubectl("patch", kind, name, "--type=strategic", f"--patch={patch}")
        slowest_s = max(slowest_s, repaired(cluster, kind, name, is_again(before)))
    for place in DELETED:
        kind, _, name = place.partition("/")
        old = kubectl.get(kind, name)["metadata"]["uid"]
        kubectl("delete", kind, name, "--wait=false")
        slowest_s = max(slowest_s, repaired(cluster, kind, name, is_another_than(old)))
    figures.note(changes=len(CHANGES), deletions=len(DELETED), slowest_s=slowest_s)
    assert slowest_s <= 10
    await_ready(kubectl, "chat", within_s=60)
    for manifest in manifests:
        assert cluster.diff(manifest) == ""


def repaired(cluster: Cluster, kind: str, name: str, condition: Callable[[Object], bool]) -> float:
    begun = time.monotonic()
    cluster.kubectl.until(kind, name, condition, within_s=20, what="repaired")
    return time.monotonic() - begun


def test_what_is_no_longer_wanted_goes(cluster: Cluster) -> None:
    kubectl = cluster.kubectl
    whole = simulated("chat")
    whole["spec"] |= {
        "networkPolicy": "Enabled",
        "cache": {
            "type": "PersistentVolumeClaim",
            "template": {"size": "1Gi", "storageClassName": "none-here"},
            "retention": "Delete",
        },
    }
    kubectl.apply(whole)
    going = [
        ("persistentvolumeclaim", "chat-cache"),
        ("networkpolicy", "chat-router"),
        *((kind, "chat-engine") for kind in ("deployment", "service", "poddisruptionbudget")),
        ("networkpolicy", "chat-engine"),
    ]
    for kind, name in going:
        kubectl.until(kind, name, is_there, within_s=15, what="made")
    kubectl.apply(external("chat", service="somebodys", port=8000))
    begun = time.monotonic()
    while left := [place for place in going if is_there(kubectl.find(*place))]:
        assert time.monotonic() < begun + 15, f"still there: {left}"
        time.sleep(0.25)
    assert kubectl.find("deployment", "chat-router")


def is_there(item: Object | None) -> bool:
    return item is not None and "deletionTimestamp" not in item["metadata"]


def test_operator_killed_midway(cluster: Cluster, figures: Figures) -> None:
    kubectl = cluster.kubectl
    names = [f"svc{number}" for number in range(5)]
    for number, name in enumerate(names):
        kubectl.apply(simulated(name), policy(name, name))
        if number in {1, 3, 4}:
            cluster.kill_operator()
    begun = time.monotonic()
    for name in names:
        await_ready(kubectl, name, within_s=90)
        await_ready(kubectl, name, kind="slopolicy", within_s=30)
    figures.note(kills=3, ready_s=time.monotonic() - begun)
    before = counts(kubectl)
    assert before
    cluster.kill_operator()
    time.sleep(10)  # it has started again and gone through all of them
    assert counts(kubectl) == before
    # A policy may be accepted and programmed again with every new generation; here there was one.
    assert set(before.values()) == {1}, before


def test_name_conflict(cluster: Cluster) -> None:
    kubectl = cluster.kubectl
    mine: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "chat-router"},
        "data": {"precious": "yes"},
    }
    kubectl.apply(mine, simulated("chat"))
    conflicted = await_reason(kubectl, "llmservice", "chat", "Ready", "NameConflict", within_s=15)
    assert "ConfigMap" in condition(conflicted, "Ready")["message"]
    assert kubectl.get("configmap", "chat-router")["data"] == {"precious": "yes"}
    kubectl("delete", "configmap", "chat-router")
    await_ready(kubectl, "chat", within_s=60)
