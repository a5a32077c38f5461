"""What SLOPolicies the schema takes and refuses."""

from collections.abc import Iterable

from .case import Duplicates, EnumCase, RuleCase, body
from .crd import Tree

KIND = "SLOPolicy"
ALL = {"name": "all", "default": True}
REST = {"name": "rest"}


def policy(*, name: str = "fast", **spec: object) -> Tree:
    return body(KIND, {"targetRefs": [{"name": "chat"}], "workloads": [ALL], **spec}, name)


def workload(**parts: object) -> Tree:
    return policy(workloads=[{**ALL, **parts}])


def bounded(most: int | None, *each: int | None) -> Tree:
    """`batch.maxSequences`, and the own bound of each workload."""
    names = ({**ALL, "name": f"w{i}", "default": not i} for i in range(len(each)))
    own = [
        name if bound is None else {**name, "maxSequencesPerInstance": bound}
        for name, bound in zip(names, each, strict=True)
    ]
    return policy(workloads=own, batch={} if most is None else {"maxSequences": most})


def matching(**match: object) -> Tree:
    return workload(match=match)


def headers(*names: str) -> Tree:
    return matching(headers=[{"name": name, "value": "1"} for name in names])


def alert(**parts: object) -> Tree:
    return policy(alerts=[{"name": "a", "metric": "Score", **parts}])


def case(
    path: str, message: str, *, accept: Iterable[Tree], reject: Iterable[Tree], told: str = ""
) -> RuleCase:
    return RuleCase(KIND, path, message, tuple(accept), tuple(reject), told)


RULES = (
    case(
        "",
        "name becomes part of Event names: it must have at most 63 of a-z, 0-9 and '-', and "
        "neither start nor end with '-'",
        accept=[policy(name=name) for name in ("a", "1a", "a" * 63)],
        reject=[policy(name=name) for name in ("a" * 64, "a.b")],
    ),
    case(
        "spec",
        "an alert names unknown workloads; alerts[].workloads takes names of workloads of this "
        "policy",
        accept=[
            alert(threshold=1, workloads=["all"]),
            alert(threshold=1, workloads=[]),
            alert(threshold=1),
        ],
        reject=[alert(threshold=1, workloads=["all", "none"])],
        told="names unknown workloads",
    ),
    case(
        "spec",
        "maxSequencesPerInstance of a workload is above batch.maxSequences, so it could never be "
        "reached",
        accept=[
            bounded(8, 8, None),
            bounded(None, 9),
            bounded(8, None),
            workload(maxSequencesPerInstance=9),
        ],
        reject=[bounded(8, 9), bounded(8, None, 9)],
    ),
    case(
        "spec.workloads",
        "exactly one workload must have `default: true`",
        accept=[policy(workloads=[REST, ALL]), policy(workloads=[ALL, {**REST, "default": False}])],
        reject=[policy(workloads=[REST]), policy(workloads=[ALL, {**REST, "default": True}])],
    ),
    case(
        "spec.workloads[].match",
        "promptTokensMin is above promptTokensMax: nothing could match",
        accept=[
            matching(promptTokensMin=9, promptTokensMax=9),
            matching(promptTokensMin=9),
            matching(promptTokensMax=9),
        ],
        reject=[matching(promptTokensMin=10, promptTokensMax=9)],
    ),
    case(
        "spec.workloads[].match.headers",
        "header names must be unique (they compare without case)",
        accept=[headers("a", "b"), headers()],
        reject=[headers("a", "a"), headers("x", "X-A", "x-a")],
        told="header names must be unique",
    ),
    case(
        "spec.alerts[]",
        "give exactly one of threshold and baselinePercent",
        accept=[alert(threshold=1), alert(baselinePercent=150)],
        reject=[alert(), alert(threshold=1, baselinePercent=150)],
    ),
    case(
        "spec.alerts[]",
        "Attainment is a percentage and its bound a floor: threshold or baselinePercent must be at "
        "most 100",
        accept=[
            alert(metric="Attainment", threshold=100),
            alert(metric="Attainment", baselinePercent=100),
            alert(metric="TTFT", threshold=101),
            alert(metric="PredictionError", threshold=101),
        ],
        reject=[
            alert(metric="Attainment", threshold=101),
            alert(metric="Attainment", baselinePercent=101),
        ],
    ),
)


def _condition(value: str) -> Tree:
    return {
        "type": "Accepted",
        "status": value,
        "reason": "Because",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def _ancestor(value: str) -> Tree:
    ref = {"group": "steelyard.io", "kind": "LLMService", "name": "chat"}
    ancestor = {
        "ancestorRef": ref,
        "controllerName": "steelyard.io/operator",
        "conditions": [_condition(value)],
    }
    return {**policy(), "status": {"ancestors": [ancestor]}}


def _alert_row(value: str) -> Tree:
    row = {"service": "chat", "alert": "a", "workload": "all", "state": value, "value": "9"}
    return {**policy(), "status": {"alerts": [row]}}


ENUMS = (
    EnumCase(
        KIND, "spec.targetRefs[].group", lambda v: policy(targetRefs=[{"name": "a", "group": v}])
    ),
    EnumCase(
        KIND, "spec.targetRefs[].kind", lambda v: policy(targetRefs=[{"name": "a", "kind": v}])
    ),
    EnumCase(KIND, "spec.mode", lambda value: policy(mode=value)),
    EnumCase(
        KIND, "spec.workloads[].routing.strategy", lambda v: workload(routing={"strategy": v})
    ),
    EnumCase(KIND, "spec.workloads[].queue.onTimeout", lambda v: workload(queue={"onTimeout": v})),
    EnumCase(KIND, "spec.queue.onTimeout", lambda value: policy(queue={"onTimeout": value})),
    EnumCase(KIND, "spec.scheduler.mode", lambda value: policy(scheduler={"mode": value})),
    EnumCase(KIND, "spec.scheduler.order", lambda value: policy(scheduler={"order": value})),
    EnumCase(
        KIND, "spec.scheduler.enginePriority", lambda v: policy(scheduler={"enginePriority": v})
    ),
    EnumCase(KIND, "spec.alerts[].metric", lambda value: alert(metric=value, threshold=1)),
    EnumCase(KIND, "spec.alerts[].severity", lambda v: alert(severity=v, threshold=1)),
    EnumCase(
        KIND,
        "status.conditions[].status",
        lambda value: {**policy(), "status": {"conditions": [_condition(value)]}},
    ),
    EnumCase(KIND, "status.ancestors[].conditions[].status", _ancestor),
    EnumCase(KIND, "status.alerts[].state", _alert_row),
)

RULE = {"name": "a", "metric": "Score", "threshold": 1}
DUPLICATES: Duplicates = {
    (KIND, "spec.targetRefs"): policy(targetRefs=[{"name": "a"}, {"name": "a"}]),
    (KIND, "spec.workloads"): policy(workloads=[ALL, {"name": "all"}]),
    (KIND, "spec.alerts"): policy(alerts=[RULE, RULE]),
}
