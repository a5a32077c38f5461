"""The routers of a service: their pods, and what they say of themselves.

A router is not ready while it can use no engine. That is the engines' trouble and no failure of the
router, however long it lasts, so its Deployment's deadline does not count then.
"""

from dataclasses import replace
from datetime import datetime

from steelyard_operator.plan.child.name import ROUTER

from .finding import Finding, pods_finding
from .live import Object, count
from .observed import Observed, RouterReport

NOT_READY = "RouterNotReady"
_WAITING = frozenset({"NotReady", "PodStarting"})


def router_finding(observed: Observed, now: datetime) -> Finding:
    found = pods_finding(
        ROUTER,
        observed.deployments.get(ROUTER),
        observed.pods.get(ROUTER, ()),
        events=observed.pod_events,
        downloads=None,
        now=now,
    )
    if found.good or found.trouble is None or found.trouble.reason not in _WAITING:
        return found
    pod = found.trouble.pod
    words = next((_unready(item) for item in observed.reports if item.pod == pod), None)
    if words is None:
        return found
    message = f"router pod {pod} runs and takes no requests: {words}"
    return replace(found, reason=NOT_READY, message=message, moving=NOT_READY, failed=False)


def router_row(observed: Observed) -> Object:
    """status.router; the revision only while all ready replicas agree on it."""
    row: Object = {
        "replicas": count(observed.deployments.get(ROUTER), "status", "replicas"),
        "readyReplicas": count(observed.deployments.get(ROUTER), "status", "readyReplicas"),
    }
    running = {report.revision for report in observed.reports if report.ready and report.reachable}
    revision = next(iter(running), None)
    if len(running) == 1 and revision is not None:
        row["revision"] = revision
    return row


def _unready(report: RouterReport) -> str | None:
    words = report.status.get("unserved_reason")
    return words if report.reachable and isinstance(words, str) else None
