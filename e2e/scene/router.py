"""Looks at the routers of a service, through the API server, so that any cluster will do."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onenode.kubectl import Kubectl

ADMIN_PORT = 9090
POLL_S = 0.05


@dataclass(frozen=True)
class RouterPod:
    """One replica."""

    name: str
    kubectl: Kubectl

    def status(self) -> dict[str, Any]:
        place = f"/api/v1/namespaces/{self.kubectl.namespace}/pods/{self.name}:{ADMIN_PORT}"
        found: dict[str, Any] = json.loads(self.kubectl("get", "--raw", f"{place}/proxy/status"))
        return found


def pods(kubectl: Kubectl, service: str, component: str) -> list[dict[str, Any]]:
    """The pods of one part of a service that are not on their way out."""
    labels = f"steelyard.io/service={service},steelyard.io/component={component}"
    found = kubectl.list("pods", labels=labels)
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def router_pods(kubectl: Kubectl, service: str) -> list[RouterPod]:
    found = pods(kubectl, service, "router")
    return [RouterPod(pod["metadata"]["name"], kubectl) for pod in found]


def lives(kubectl: Kubectl, service: str) -> Mapping[str, tuple[str, int]]:
    """Pod name -> (uid, restarts), of engines and routers: equal as long as nothing restarted."""
    return {
        pod["metadata"]["name"]: (
            pod["metadata"]["uid"],
            sum(each["restartCount"] for each in pod["status"].get("containerStatuses", ())),
        )
        for component in ("engine", "router")
        for pod in pods(kubectl, service, component)
    }


def await_revision(routers: Sequence[RouterPod], revision: str, *, within_s: float) -> float:
    """Seconds until every replica reports the revision; AssertionError if not in time."""
    begun = time.monotonic()
    waiting = list(routers)
    while waiting:
        waiting = [router for router in waiting if router.status()["revision"] != revision]
        passed_s = time.monotonic() - begun
        if waiting and passed_s > within_s:
            raise AssertionError(f"{[r.name for r in waiting]} do not run {revision} in time")
        if waiting:
            time.sleep(POLL_S)
    return time.monotonic() - begun


def await_engines(kubectl: Kubectl, service: str, count: int, *, within_s: float) -> None:
    """Until every router replica may use so many engines. A service is Ready before that: all but
    one engine are enough while they start.
    """
    begun = time.monotonic()
    while not all(usable(router) == count for router in router_pods(kubectl, service)):
        if time.monotonic() - begun > within_s:
            raise AssertionError(f"not within {within_s:g} s: {count} engines in use")
        time.sleep(POLL_S)


def usable(router: RouterPod) -> int:
    return sum(instance["usable"] for instance in router.status()["instances"])
