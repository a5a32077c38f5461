"""A wrong object is refused, or its status says in words what to do."""

import copy

import pytest
from onenode.kubectl import KubectlError, Object
from scene.cluster import Cluster
from scene.manifest import condition, policy, simulated
from scene.ready import await_ready, await_reason

LONG_NAME = "a" * 41


def changed(item: Object, path: str, value: object) -> Object:
    """A copy with one field set; `a.0.b` goes through lists too."""
    found = copy.deepcopy(item)
    *way, last = path.split(".")
    place = found
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = value
    return found


REFUSED: list[tuple[str, Object, str]] = [
    ("long name", simulated(LONG_NAME), "40"),
    ("no engine type", changed(simulated("a"), "spec.engine", {}), "type"),
    ("unknown engine", changed(simulated("a"), "spec.engine.type", "Foo"), "Simulator"),
    ("urls for ours", changed(simulated("a"), "spec.engine.urls", ["http://x:1"]), "External"),
    ("vllm without model", changed(simulated("a"), "spec.engine.type", "VLLM"), "model.uri"),
    ("no target", policy("p"), "targetRefs"),
    ("no default", changed(policy("p", "a"), "spec.workloads.0.default", False), "default"),
    ("threshold and baseline", policy("p", "a", alerts=[
        {"name": "x", "metric": "Score", "threshold": 1, "baselinePercent": 100}
    ]), "exactly one"),
    ("unknown workload", policy("p", "a", alerts=[
        {"name": "x", "metric": "Score", "threshold": 1, "workloads": ["nope"]}
    ]), "unknown workloads"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "words"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_bad_objects_are_refused(cluster: Cluster, item: Object, words: str) -> None:
    with pytest.raises(KubectlError) as refusal:
        cluster.kubectl.apply(item)
    assert words in str(refusal.value)


def test_bad_objects_are_explained(cluster: Cluster) -> None:
    """What only shows when it is tried: each has its reason, and the cure makes it Ready."""
    kubectl = cluster.kubectl
    good = simulated("chat")
    secret = {"secretKeyRef": {"name": "missing", "key": "k"}}
    keys = {"apiKeySecretRef": {"name": "missing", "key": "keys"}}
    cases = {
        "image": (
            "ImagePullFailed",
            changed(good, "spec.engine.image", "localhost/steelyard:nowhere"),
        ),
        "template": (
            "InvalidPodTemplate",
            changed(good, "spec.engine.podTemplate", {"spec": {"restartPolicy": "Sometimes"}}),
        ),
        "room": (
            "InsufficientCapacity",
            changed(good, "spec.engine.resources", {"limits": {"nvidia.com/gpu": "8"}}),
        ),
        "variable": (
            "SecretNotFound",
            changed(good, "spec.engine.env", [{"name": "T", "valueFrom": secret}]),
        ),
        "volume": ("SecretNotFound", changed(good, "spec.router", keys)),
        "flag": ("ModelLoadFailed", changed(good, "spec.engine.args", ["--no-such-flag"])),
    }
    for name, (_, item) in cases.items():
        kubectl.apply(changed(item, "metadata.name", name))
    for name, (reason, _) in cases.items():
        explained = await_reason(kubectl, "llmservice", name, "Ready", reason, within_s=60)
        found = condition(explained, "Ready")
        assert found["status"] == "False"
        assert len(found["message"]) > 20
        assert reason in kubectl("get", "llmservice", name)
    for name in cases:
        kubectl.apply(changed(good, "metadata.name", name))
    for name in cases:
        await_ready(kubectl, name, within_s=90)
