"""The status of an SLOPolicy: conditions in the sense of kstatus, target by target and in all.

    Accepted     some target is ours to decide for (or to measure, for DryRun)
    Programmed   every ready router replica of every such target runs it
    Ready        accepted by every target, and programmed
    Reconciling  only while true: routers are about to load it
    Stalled      only while true: somebody has to act; excludes Reconciling
    AlertFiring  while any alert has a state; changes none of the others

Equal input gives an equal status, and no Event the second time.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from steelyard_operator.api.base import API_VERSION
from steelyard_operator.plan.attachment import Ancestor, PolicyResult
from steelyard_operator.plan.condition import Condition

from .alert import measurements
from .intent import StatusPlan
from .live import Live, Object, bounded, moment, rows, text
from .policy_event import policy_events
from .programmed import PAUSED, RELOAD_FAILED, RELOADING, Programming, Target, programming
from .transition import find, written

CONTROLLER = "steelyard.io/operator"
FAST_S = 1.0
SOON_S = 10.0
LATER_S = 60.0
_FAST_FOR = timedelta(seconds=60)
_WORST = (
    "Invalid", "Conflicted", "TargetNotFound", RELOAD_FAILED, PAUSED, "RouterNotReady",
    "Reconciling", "RouterUnreachable",
)  # fmt: skip
_HOPELESS = frozenset({"Invalid", "Conflicted", RELOAD_FAILED})

Parts = Sequence[tuple[Ancestor, Programming]]


def policy_status(
    result: PolicyResult, stored: object, targets: Mapping[str, Target], *, now: datetime
) -> StatusPlan:
    """`targets` holds the services of the policy's namespace that have routers, by name."""
    parts = [(item, programming(item, targets.get(item.target))) for item in result.ancestors]
    measured = measurements(result, targets, stored, now)
    generation = result.claim.generation
    conditions = [*_conditions(parts), *_firing(measured)]
    before = _ancestors_before(stored)
    status: Object = {
        "observedGeneration": generation,
        "conditions": written(conditions, stored, generation, now),
        "targets": ",".join(result.claim.targets),
        "ancestors": [
            _ancestor(result, item, made, before.get(item.target, {}), now) for item, made in parts
        ],
        **measured,
    }
    return StatusPlan(
        status, policy_events(result, parts, before), _requeue_s(parts, measured, stored, now)
    )


def _conditions(parts: Parts) -> list[Condition]:
    accepted, programmed = _accepted(parts), _programmed(parts)
    failing = _failing(parts)
    ready = Condition("Ready", "True", programmed.reason, programmed.message)
    if failing is not None:
        ready = Condition("Ready", failing.status, failing.reason, failing.message)
    found = [accepted, programmed, ready]
    if failing is not None and failing.reason in _HOPELESS:
        found.append(Condition("Stalled", "True", failing.reason, failing.message))
    elif accepted.status == "True" and programmed.status == "False":
        found.append(Condition("Reconciling", "True", programmed.reason, programmed.message))
    return found


def _failing(parts: Parts) -> Condition | None:
    """The condition of a target that most needs somebody, with the target named."""
    found = [
        Condition(bad.type, bad.status, bad.reason, f"{item.target}: {bad.message}")
        for item, made in parts
        for bad in (item.condition, made.condition)
        if bad.status != "True"
    ]
    return min(found, key=_rank, default=None)


def _accepted(parts: Parts) -> Condition:
    taken = [item for item, _ in parts if item.condition.status == "True"]
    refused = [item for item, _ in parts if item.condition.status != "True"]
    words = "; ".join(
        [*(item.condition.message for item in taken), *(_refusal(item) for item in refused)]
    )
    if taken:
        return Condition("Accepted", "True", taken[0].condition.reason, words)
    reason = min((item.condition for item in refused), key=_rank).reason
    return Condition("Accepted", "False", reason, words)


def _refusal(item: Ancestor) -> str:
    return f"not for {item.target} ({item.condition.reason}): {item.condition.message}"


def _programmed(parts: Parts) -> Condition:
    """Of the targets that took the policy; the others are no matter of its routers."""
    wanted = [(item, made) for item, made in parts if item.condition.status == "True"]
    if not wanted:
        reason = min((item.condition for item, _ in parts), key=_rank).reason
        return Condition("Programmed", "False", reason, "no target takes this policy")
    worst = min(
        (made.condition for _, made in wanted),
        key=lambda item: (item.status == "True", _rank(item)),
    )
    words = "; ".join(f"{item.target}: {made.condition.message}" for item, made in wanted)
    return Condition("Programmed", worst.status, worst.reason, words)


def _rank(condition: Condition) -> int:
    return _WORST.index(condition.reason) if condition.reason in _WORST else len(_WORST)


def _firing(measured: Object) -> list[Condition]:
    states = list(rows(measured, "alerts"))
    if not states:
        return []
    names = [
        f"{text(row, 'alert')} ({text(row, 'service')}, workload {text(row, 'workload')})"
        for row in states
        if row.get("state") == "Firing"
    ]
    if names:
        return [Condition("AlertFiring", "True", "Firing", f"firing: {', '.join(names)}")]
    if all(row.get("state") == "NoData" for row in states):
        return [Condition("AlertFiring", "False", "NoData", "too few requests to judge")]
    return [Condition("AlertFiring", "False", "NotFiring", "no alert fires")]


def _ancestors_before(stored: object) -> dict[str, Live]:
    return {text(row, "ancestorRef", "name"): row for row in rows(stored, "ancestors")}


def _ancestor(
    result: PolicyResult, item: Ancestor, made: Programming, before: Live, now: datetime
) -> Object:
    claim = result.claim
    conditions = [
        Condition(part.type, part.status, part.reason, bounded(part.message, 512))
        for part in (item.condition, made.condition)
    ]
    row: Object = {
        "ancestorRef": {
            "group": API_VERSION.partition("/")[0],
            "kind": "LLMService",
            "namespace": claim.namespace,
            "name": item.target,
        },
        "controllerName": CONTROLLER,
        "conditions": written(conditions, before, claim.generation, now),
    }
    extras = {"programmedReplicas": made.replicas, "revision": made.revision}
    return row | {key: part for key, part in extras.items() if part is not None}


def _requeue_s(parts: Parts, measured: Object, stored: object, now: datetime) -> float | None:
    """Objects are watched; what routers report has to be asked for: often only while they are about
    to load something, which takes them a moment.
    """
    wanted = [made for item, made in parts if item.condition.status == "True"]
    if not wanted:
        return None
    if any(made.condition.reason == RELOADING for made in wanted):
        last = find(stored, "Programmed")
        since = moment(last.get("lastTransitionTime")) if last.get("status") == "False" else None
        fresh = since is None or timedelta(0) <= now - since < _FAST_FOR
        return FAST_S if fresh else SOON_S
    waits = any(made.condition.status != "True" for made in wanted)
    return SOON_S if waits or measured.get("alerts") else LATER_S
