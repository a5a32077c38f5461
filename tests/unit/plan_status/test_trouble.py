"""One reason and one sentence for a pod that is not ready, from pods as API servers have them."""

from typing import Any

import pytest
from support.seen import NOW, Tree, ago, ended, good_pod, pod, running, unschedulable, waiting

from steelyard_operator.plan.status.case import Case, Trouble
from steelyard_operator.plan.status.trouble import trouble, unexplained, unready, worst

NAME = "chat-engine-5d8c7-x2x9p"
SCHEDULER = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
ONCE_READY: Tree = {"type": "Ready", "status": "False", "lastTransitionTime": ago(5)}


def judged(
    seen: Tree, component: str = "engine", downloads: str | None = None, events: Any = ()
) -> Trouble:
    return trouble(Case(seen, component, downloads, events, NOW))


def init(state: Tree, name: str = "fetch") -> Tree:
    return {"initContainerStatuses": [{"name": name, "restartCount": 0, **state}]}


def crash(code: int = 1, reason: str = "Error", restarts: int = 1, **more: object) -> Tree:
    back_off = waiting("CrashLoopBackOff", "back-off 20s restarting failed container")
    return {**back_off, "restartCount": restarts, "lastState": ended(code, reason), **more}


CASES: dict[str, tuple[Tree, str, tuple[str, ...]]] = {
    "no node has room": (
        unschedulable(SCHEDULER),
        "InsufficientCapacity",
        (SCHEDULER, NAME),
    ),
    "a node refuses it": (
        pod(phase="Failed", reason="OutOfnvidia.com/gpu", message="Node didn't have enough"),
        "InsufficientCapacity",
        ("Node didn't have enough",),
    ),
    "a device plugin refuses it": (
        pod(phase="Failed", reason="UnexpectedAdmissionError", message="Allocate failed"),
        "InsufficientCapacity",
        ("Allocate failed",),
    ),
    "evicted": (
        pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
        "PodFailed",
        ("Evicted", "low on resource: memory"),
    ),
    "the image is not there": (
        pod(container=waiting("ErrImagePull", 'failed to pull "vllm/x:nope": not found')),
        "ImagePullFailed",
        ("vllm/x:nope", "check the image's name"),
    ),
    "an init container's image is not there": (
        pod(**init(waiting("ImagePullBackOff", 'Back-off pulling image "fetch:1"'))),
        "ImagePullFailed",
        ("container fetch", "fetch:1"),
    ),
    "a Secret is not there": (
        pod(container=waiting("CreateContainerConfigError", 'secret "hf-token" not found')),
        "SecretNotFound",
        ('"hf-token"', "create it in this namespace"),
    ),
    "a Secret has no such key": (
        pod(container=waiting("CreateContainerConfigError", "couldn't find key t in Secret d/hf")),
        "SecretNotFound",
        ("key t in Secret d/hf",),
    ),
    "a ConfigMap is not there": (
        pod(container=waiting("CreateContainerConfigError", 'configmap "x" not found')),
        "InvalidPodTemplate",
        ('configmap "x" not found',),
    ),
    "root is not allowed": (
        pod(container=waiting("CreateContainerConfigError", "image will run as root")),
        "InvalidPodTemplate",
        ("run as root",),
    ),
    "it crashes before it is ready": (
        pod(container=crash(1)),
        "ModelLoadFailed",
        ("exit code 1", "before it was ready", f"{NAME} -c engine --previous"),
    ),
    "it has just crashed": (
        pod(container={"state": ended(2), "ready": False}),
        "ModelLoadFailed",
        ("exit code 2",),
    ),
    "it runs again after a crash": (
        pod(container=running(restartCount=1, lastState=ended(1))),
        "ModelLoadFailed",
        ("exit code 1",),
    ),
    "it needs more memory": (
        pod(container=crash(137, "OOMKilled")),
        "ModelLoadFailed",
        ("OOMKilled", "resources.limits.memory"),
    ),
    "it is killed at the end of its startup time": (
        pod(container=crash(137)),
        "ModelLoadFailed",
        ("engine.startupTimeoutSeconds",),
    ),
    "it left a last word": (
        pod(container={**crash(), "lastState": ended(1, message="CUDA out of memory")}),
        "ModelLoadFailed",
        ("CUDA out of memory",),
    ),
    "it crashes after it had been ready": (
        pod(container=crash(1), conditions=(ONCE_READY,), age_s=900),
        "CrashLooping",
        ("after it had been ready",),
    ),
    "it loads again after it had been ready": (
        pod(
            container=running(restartCount=1, lastState=ended(139)),
            conditions=(ONCE_READY,),
            age_s=900,
        ),
        "ModelLoading",
        ("again after it ended with exit code 139",),
    ),
    "an init container crashes": (
        pod(**init(crash(3))),
        "CrashLooping",
        ("container fetch", "exit code 3", "-c fetch --previous"),
    ),
    "an init container runs": (
        pod(container=waiting("PodInitializing"), **init(running())),
        "PodStarting",
        ("init container fetch", "-c fetch"),
    ),
    "it loads": (pod(container=running()), "ModelLoading", (NAME, "kubectl logs")),
    "it runs and its readiness fails": (
        pod(container=running(started=True)),
        "NotReady",
        ("readiness probe fails",),
    ),
    "its node is gone": (
        pod(
            container=running(ready=True, started=True),
            conditions=({**ONCE_READY, "reason": "NodeStatusUnknown"},),
        ),
        "NotReady",
        ("NodeStatusUnknown",),
    ),
    "it waits for its volumes": (
        pod(container=waiting("ContainerCreating")),
        "PodStarting",
        (f"kubectl describe pod -n default {NAME}",),
    ),
    "nothing is known yet": (pod(node=None), "PodStarting", (NAME,)),
}


@pytest.mark.parametrize("what", CASES)
def test_a_pods_trouble_has_a_reason_and_says_what_to_do(what: str) -> None:
    seen, reason, words = CASES[what]

    found = judged(seen)

    assert found.reason == reason
    assert [part for part in words if part not in found.message] == []
    assert found.pod == NAME


def test_an_engine_with_nothing_on_disk_downloads_and_the_message_says_what_is_not_known() -> None:
    found = judged(pod(container=running()), downloads="hf://org/model")

    assert found.reason == "ModelDownloading"
    assert "hf://org/model" in found.message
    assert "cannot be seen from outside" in found.message


def test_a_routers_crash_is_no_failed_load_of_a_model() -> None:
    seen = pod("chat-router-1", component="router", container=crash())

    assert judged(seen, "router").reason == "CrashLooping"


def test_a_sidecars_crash_is_no_failed_load_of_a_model() -> None:
    seen = pod(container=running())
    seen["status"]["containerStatuses"].append({"name": "exporter", **crash()})

    assert judged(seen).reason == "CrashLooping"


@pytest.mark.parametrize(
    ("seen", "stalled"),
    [
        (pod(container=waiting("ErrImagePull"), age_s=30), False),
        (pod(container=waiting("ErrImagePull"), age_s=600), True),
        (pod(container=waiting("InvalidImageName"), age_s=1), True),
        (pod(container=waiting("CreateContainerConfigError", "secret x"), age_s=10), False),
        (pod(container=waiting("CreateContainerConfigError", "secret x"), age_s=90), True),
        (pod(container=crash(restarts=1)), False),
        (pod(container=crash(restarts=3)), True),
        (unschedulable(SCHEDULER), False),
        (pod(container=running(), age_s=7200), False),
    ],
)
def test_waiting_is_called_hopeless_only_after_a_while(seen: Tree, stalled: bool) -> None:
    assert judged(seen).stalled is stalled


MOUNT = {"type": "Warning", "reason": "FailedMount"}


def test_a_volume_without_its_secret_is_told_from_the_pods_events() -> None:
    words = 'MountVolume.SetUp failed for volume "api-keys" : secret "keys" not found'
    seen = pod(container=waiting("ContainerCreating"), age_s=120)

    assert unexplained([seen], NOW) == (NAME,)
    found = judged(seen, events=({**MOUNT, "message": words},))
    assert (found.reason, found.stalled) == ("SecretNotFound", True)
    assert '"keys"' in found.message


def test_a_volume_that_cannot_be_mounted_is_told_in_the_kubelets_words() -> None:
    words = "MountVolume.MountDevice failed for volume pvc-1: rpc error"
    seen = pod(container=waiting("ContainerCreating"), age_s=120)

    found = judged(seen, events=({**MOUNT, "message": words},))

    assert found.reason == "PodStarting"
    assert words in found.message


@pytest.mark.parametrize(
    "seen",
    [
        pod(container=waiting("ContainerCreating"), age_s=5),
        pod(container=waiting("ErrImagePull"), age_s=120),
        pod(container=running(), age_s=120),
        unschedulable(SCHEDULER),
        good_pod(NAME),
    ],
)
def test_events_are_asked_only_of_pods_that_their_status_does_not_explain(seen: Tree) -> None:
    assert unexplained([seen], NOW) == ()


def test_pods_on_their_way_out_are_nobodys_trouble() -> None:
    leaving = pod(container=crash())
    leaving["metadata"]["deletionTimestamp"] = ago(1)

    assert unready([leaving, good_pod("b")]) == ()


def test_of_several_pods_the_one_that_needs_somebody_is_told_whatever_the_order() -> None:
    pods = [pod("a", container=running()), unschedulable(SCHEDULER, "b"), pod("c", node=None)]

    told = {worst([judged(item) for item in order]) for order in (pods, pods[::-1])}

    assert [item.pod for item in told if item] == ["b"]


def test_messages_are_bounded_and_of_one_line() -> None:
    found = judged(unschedulable("no\nroom " * 1000))

    assert len(found.message) <= 512
    assert "\n" not in found.message
