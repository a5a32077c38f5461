"""Whether one component of a service, its engines or its routers, can be used, and if not, why.

Available is a fact about now: enough pods serve. Failed is a fact about the future: pods are
missing and no waiting helps. A component may be both, as when an update breaks on its first pod.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from steelyard_operator.plan.child.name import ENGINE

from .blocker import OVER_QUOTA
from .case import Case, Trouble
from .deployment import Rollout, rollout
from .live import Live, text
from .observed import RouterReport
from .trouble import trouble, unready, worst

UPDATING = "Updating"
ROUTER_UPDATING = "RouterUpdating"
SCALED_TO_ZERO = "ScaledToZero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`moving` is why it is not settled yet (the reason of Reconciling), None when it is."""

    available: bool | None
    reason: str
    message: str
    moving: str | None = None
    failed: bool = False
    trouble: Trouble | None = None
    rollout: Rollout | None = None

    @property
    def good(self) -> bool:
        return self.available is True and not self.failed


def pods_finding(
    component: str,
    deployment: Live | None,
    pods: Iterable[Live],
    *,
    events: Mapping[str, tuple[Live, ...]],
    downloads: str | None,
    now: datetime,
) -> Finding:
    """Of a component that runs as a Deployment. `downloads`: see Case."""
    if deployment is None:
        return Finding(
            available=False,
            reason="NotCreated",
            message=f"the {component} Deployment is not there yet",
            moving="Applying",
        )
    state = rollout(deployment)
    if state.desired == 0:
        return _scaled_to_zero(component, state)
    cases = (
        Case(pod, component, downloads, events.get(text(pod, "metadata", "name"), ()), now)
        for pod in unready(pods)
    )
    found = worst(trouble(case) for case in cases)
    return _judged(component, state, found)


def external_finding(reports: Iterable[RouterReport]) -> Finding:
    """Of engines that someone else runs: only the routers can tell."""
    counts = instances(reports)
    if counts is None:
        words = "no router replica has said yet which instances it can use"
        return _external("NotReported", words, available=None)
    usable, known = counts
    if usable:
        return _external("Available", f"{usable} of {known} instances are usable", available=True)
    if known:
        return _external(
            "NoUsableInstance",
            f"none of {known} instances is usable: check that the engines run and that the router "
            "can reach them; the router's /status says what it sees of each",
            available=False,
        )
    return _external(
        "NoInstance",
        "the router knows no instance: check engine.urls, or that the Service in engine.serviceRef "
        "exists and has ready endpoints on that port",
        available=False,
    )


def _external(reason: str, message: str, *, available: bool | None) -> Finding:
    return Finding(available=available, reason=reason, message=message)


def instances(reports: Iterable[RouterReport]) -> tuple[int, int] | None:
    """Usable and known instances, as the router replica that sees most of them reports."""
    seen = []
    for report in reports:
        rows = report.status.get("instances")
        if report.reachable and isinstance(rows, list):
            usable = sum(isinstance(row, Mapping) and row.get("usable") is True for row in rows)
            seen.append((usable, len(rows)))
    return max(seen, default=None)


def _scaled_to_zero(component: str, state: Rollout) -> Finding:
    return Finding(
        available=False,
        reason=SCALED_TO_ZERO,
        message=f"no {component} runs because replicas is 0; raise it to serve again",
        moving=SCALED_TO_ZERO if state.replicas or state.unseen else None,
        rollout=state,
    )


def _judged(component: str, state: Rollout, found: Trouble | None) -> Finding:
    missing = state.ready < state.desired or state.updated < state.desired
    reason, message, hopeless = _why(component, state, found)
    failed = missing and hopeless
    available = state.available >= state.required
    figures = f"{state.available} of {state.desired} {component} pods are available"
    if available and not failed:
        reason = "Available"
        message = figures if not missing or found is None else f"{figures}; {found.message}"
    elif available:
        message = f"{figures}; {message}"
    return Finding(
        available=available,
        reason=reason,
        message=message,
        moving=None if failed or state.settled else _moving(component, state, found),
        failed=failed,
        trouble=found,
        rollout=state,
    )


def _why(component: str, state: Rollout, found: Trouble | None) -> tuple[str, str, bool]:
    """Reason, message, and whether no waiting helps, supposing that pods are missing."""
    if state.refused is not None:
        reason = "InsufficientCapacity" if OVER_QUOTA in state.refused else "InvalidPodTemplate"
        return reason, f"the API server refuses {component} pods: {state.refused}", True
    late = state.overdue is not None
    if found is not None:
        words = f"{found.message} (rollout.progressDeadlineSeconds is over)" if late else ""
        return found.reason, words or found.message, late or found.stalled
    if late:
        return "ProgressDeadlineExceeded", f"the {component} pods: {state.overdue}", True
    return UPDATING, f"{component} pods are being made", False


def _moving(component: str, state: Rollout, found: Trouble | None) -> str:
    if state.rolling:
        return UPDATING if component == ENGINE else ROUTER_UPDATING
    if found is not None and state.ready < state.desired:
        return found.reason
    return "Scaling"
