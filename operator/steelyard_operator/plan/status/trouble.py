"""Why a pod is not ready, in one reason and one sentence that says what to do.

Told from the pod's status, its Events where only they know, and the time that passed. Two things
cannot be seen from outside and are not claimed: whether an engine still downloads or already loads,
and what a crashed container wrote last.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from steelyard_operator.plan.child.name import ENGINE

from .case import Case, Trouble
from .container import (
    BACK_OFF,
    CONFIG_REASONS,
    HOPELESS_IMAGE_REASONS,
    IMAGE_REASONS,
    containers,
    ending,
)
from .live import Live, bounded, condition, text

SECRET_GRACE = timedelta(seconds=60)
"""A Secret may be applied a little after the service that names it."""
IMAGE_GRACE = timedelta(minutes=5)
UNEXPLAINED = timedelta(seconds=20)
"""After this long without a container, a pod's Events are asked."""
HOPELESS_RESTARTS = 3
_RECENT = timedelta(minutes=10)

ORDER = (
    "InvalidPodTemplate", "SecretNotFound", "ImagePullFailed", "ModelLoadFailed", "CrashLooping",
    "InsufficientCapacity", "PodFailed", "ModelDownloading", "ModelLoading", "NotReady",
    "PodStarting",
)  # fmt: skip
"""Which of several pods' reasons is told: the one that most needs somebody comes first."""


def trouble(case: Case) -> Trouble:
    """Why this pod is not ready."""
    for rule in _RULES:
        found = rule(case)
        if found is not None:
            return found
    return case.trouble("PodStarting", f"pod {case.name} is starting")


def worst(troubles: Iterable[Trouble]) -> Trouble | None:
    """The one to tell; the same one for the same pods in any order."""
    return min(troubles, key=lambda item: (ORDER.index(item.reason), item.pod), default=None)


def _unplaced(case: Case) -> Trouble | None:
    placed = condition(case.pod, "PodScheduled")
    if case.scheduled or placed.get("status") != "False":
        return None
    words = text(placed, "message")
    if text(placed, "reason") == "Unschedulable":
        return case.trouble(
            "InsufficientCapacity", f"no node takes pod {case.name}; the scheduler says: {words}"
        )
    return case.trouble("PodStarting", f"pod {case.name} is held back from scheduling: {words}")


def _failed(case: Case) -> Trouble | None:
    if text(case.pod, "status", "phase") != "Failed":
        return None
    reason = text(case.pod, "status", "reason")
    words = text(case.pod, "status", "message") or "its containers ended"
    full = reason.startswith("OutOf") or reason == "UnexpectedAdmissionError"
    return case.trouble(
        "InsufficientCapacity" if full else "PodFailed",
        f"pod {case.name} failed ({reason or 'no reason given'}): {words}",
    )


def _image(case: Case) -> Trouble | None:
    for item in containers(case.pod):
        if item.waiting in IMAGE_REASONS:
            stalled = item.waiting in HOPELESS_IMAGE_REASONS or case.age > IMAGE_GRACE
            return case.trouble(
                "ImagePullFailed",
                f"the image of container {item.name} of pod {case.name} cannot be pulled "
                f"({item.waiting}): {bounded(item.words, 240) or 'no more is known'}; check the "
                "image's name and the pod's pull secrets",
                stalled=stalled,
            )
    return None


def _config(case: Case) -> Trouble | None:
    for item in containers(case.pod):
        if item.waiting in CONFIG_REASONS:
            return _refused(case, f"container {item.name} of pod {case.name}", item.words)
    return None


def _refused(case: Case, what: str, words: str) -> Trouble:
    stalled = case.age > SECRET_GRACE
    if "secret" in words.lower():
        return case.trouble(
            "SecretNotFound",
            f"{what} waits for a Secret: {words}; create it in this namespace, or correct its "
            "name or key",
            stalled=stalled,
        )
    return case.trouble("InvalidPodTemplate", f"{what} cannot be made: {words}", stalled=stalled)


def _crash(case: Case) -> Trouble | None:
    for item in containers(case.pod):
        if not item.failed or item.ready or (item.init and item.running):
            continue
        looping = item.waiting == BACK_OFF or (
            item.restarts >= HOPELESS_RESTARTS
            and item.ended is not None
            and case.now - item.ended < _RECENT
        )
        loads = case.component == ENGINE == item.name and not case.was_ready
        if not (loads or looping or not item.running):
            continue
        when = "before it was ready" if not case.was_ready else "after it had been ready"
        return case.trouble(
            "ModelLoadFailed" if loads else "CrashLooping",
            f"container {item.name} of pod {case.name} exits {when} ({ending(item)}); "
            f"see {case.logs(item, previous=True)}",
            stalled=item.restarts >= HOPELESS_RESTARTS,
        )
    return None


def _waiting(case: Case) -> Trouble | None:
    """Placed, and no container runs: images and volumes."""
    found = containers(case.pod)
    if not case.scheduled or any(item.running or item.failed for item in found):
        return None
    failures = [text(row, "message") for row in case.events if row.get("type") == "Warning"]
    mount = next((words for words in failures if "MountVolume" in words or "mount" in words), None)
    if mount is not None and "not found" in mount and _names_missing(mount):
        return _refused(case, f"a volume of pod {case.name}", mount)
    if mount is not None:
        return case.trouble("PodStarting", f"a volume of pod {case.name} is not there yet: {mount}")
    return case.trouble(
        "PodStarting",
        f"pod {case.name} waits for its images and volumes; `kubectl describe pod -n "
        f"{text(case.pod, 'metadata', 'namespace')} {case.name}` shows the Events",
    )


def _names_missing(words: str) -> bool:
    return any(f"{kind} " in words.lower() for kind in ("secret", "configmap"))


def _preparing(case: Case) -> Trouble | None:
    running = [item for item in containers(case.pod) if item.init and item.running]
    mains = [item for item in containers(case.pod) if not item.init and item.running]
    if not running or mains:
        return None
    return case.trouble(
        "PodStarting",
        f"init container {running[-1].name} of pod {case.name} is running; "
        f"see {case.logs(running[-1], previous=False)}",
    )


def _loading(case: Case) -> Trouble | None:
    main = next((item for item in containers(case.pod) if item.name == case.component), None)
    if main is None or not main.running or main.ready:
        return None
    logs = case.logs(main, previous=False)
    if main.started:
        return case.trouble(
            "NotReady", f"pod {case.name} runs and its readiness probe fails; see {logs}"
        )
    if case.component != ENGINE:
        return case.trouble("PodStarting", f"pod {case.name} has started and is not ready yet")
    if case.downloads and main.restarts == 0:
        return case.trouble(
            "ModelDownloading",
            f"pod {case.name} downloads {case.downloads}, then loads it; which of the two it does "
            f"now cannot be seen from outside: see {logs}",
        )
    again = f" again after it ended with {ending(main)}" if main.failed else ""
    return case.trouble("ModelLoading", f"pod {case.name} loads its model{again}; see {logs}")


def _lost(case: Case) -> Trouble | None:
    """Every container says ready and the pod is not: its node is gone, or a gate is closed."""
    ready, found = condition(case.pod, "Ready"), containers(case.pod)
    if not found or not all(item.ready for item in found):
        return None
    words = text(ready, "message") or text(ready, "reason") or "its node may be gone"
    return case.trouble("NotReady", f"pod {case.name} is not ready: {words}")


_RULES: tuple[Callable[[Case], Trouble | None], ...] = (
    _failed, _unplaced, _image, _config, _crash, _waiting, _preparing, _loading, _lost,
)  # fmt: skip


def unready(pods: Iterable[Live]) -> tuple[Live, ...]:
    """The pods to ask about: not ready, and not on their way out."""
    return tuple(
        pod
        for pod in pods
        if not text(pod, "metadata", "deletionTimestamp")
        and text(pod, "status", "phase") != "Succeeded"
        and condition(pod, "Ready").get("status") != "True"
    )


def unexplained(pods: Iterable[Live], now: datetime) -> tuple[str, ...]:
    """Names of pods that hang before their first container: only their Events say why."""
    names = []
    for pod in unready(pods):
        case = Case(pod, "", None, (), now)
        quiet = all(
            not item.running
            and not item.failed
            and item.waiting in {"", "ContainerCreating", "PodInitializing"}
            for item in containers(pod)
        )
        if case.scheduled and quiet and case.age > UNEXPLAINED:
            names.append(case.name)
    return tuple(sorted(names))
