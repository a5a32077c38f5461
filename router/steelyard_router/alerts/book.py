"""All alert rules of a policy: one state per (alert, workload), and the notifications they give.

An alert without workloads watches each of them by itself. A new policy keeps the state of every key
whose rule did not change, so an edit elsewhere neither silences nor repeats an alert; a firing key
whose rule changed or went is cleared, so nothing fires forever.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from steelyard_router.alerts.measure import Metric, is_floor, label, show
from steelyard_router.alerts.rule import Change, Rule, State
from steelyard_router.alerts.transition import Kind, Reason, Transition
from steelyard_router.config import Alert, Policy
from steelyard_router.scheduling.histogram import Histogram


class Source(Protocol):
    """Where distributions come from: this router's Windows, or several routers' merged."""

    def snapshot(
        self, metric: Metric, workload: str, window_s: float, now: float
    ) -> Histogram | None:
        """The distribution over the last `window_s` seconds: empty when there is none, None when it
        cannot be known.
        """
        ...


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert that fires, as another process has told. Times are on the reader's steady clock."""

    alert: str
    workload: str
    rule: str
    since: float
    notified_at: float
    threshold: float | None


class AlertBook:
    """Evaluate it every few seconds on one steady clock."""

    def __init__(self, policy: Policy, service: str) -> None:
        self._service = service
        self._rules = {key: Rule(alert) for key, alert in _keys(policy)}

    def evaluate(self, now: float, source: Source) -> list[Transition]:
        """Step every rule; what fired, still fires, or cleared since the last call."""
        transitions = []
        for (_, workload), rule in self._rules.items():
            alert, began = rule.alert, rule.since
            window = source.snapshot(alert.metric, workload, alert.window_s, now)
            if change := rule.step(now, window):
                transitions.append(self._transition(rule, workload, change, began, now))
        return transitions

    def replace(self, policy: Policy, now: float) -> list[Transition]:
        """Take a new policy."""
        old, self._rules = self._rules, {}
        for key, alert in _keys(policy):
            kept = old.get(key)
            if kept is not None and kept.alert == alert:
                self._rules[key] = old.pop(key)
            else:
                self._rules[key] = Rule(alert)
        ended = Change(Kind.CLEARED, Reason.CHANGED)
        return [
            self._transition(rule, workload, ended, rule.since, now)
            for (_, workload), rule in old.items()
            if rule.state is State.FIRING
        ]

    def resume(self, firing: Firing, now: float) -> bool:
        """Go on with an alert that another process has seen firing. False when there is no such
        rule (any more).
        """
        rule = self._rules.get((firing.alert, firing.workload))
        if rule is None or rule.fingerprint != firing.rule:
            return False
        rule.resume(
            since=firing.since,
            notified_at=firing.notified_at,
            threshold=firing.threshold,
            now=now,
        )
        return True

    def states(self) -> list[dict[str, object]]:
        """For /status, in the policy's order. `since` is on the clock of `evaluate`."""
        return [
            {
                "service": self._service,
                "alert": alert,
                "workload": workload,
                "metric": rule.alert.metric,
                "percentile": rule.alert.percentile,
                "severity": rule.alert.severity,
                "state": rule.state.value,
                "since": rule.since,
                "value": rule.value,
                "threshold": rule.threshold,
            }
            for (alert, workload), rule in self._rules.items()
        ]

    def _transition(
        self, rule: Rule, workload: str, change: Change, began: float | None, now: float
    ) -> Transition:
        """`began`: when the state before the step did, which for all but Fired is the firing."""
        alert = rule.alert
        return Transition(
            kind=change.kind,
            reason=change.reason,
            service=self._service,
            alert=alert.name,
            workload=workload,
            rule=rule.fingerprint,
            metric=alert.metric,
            percentile=alert.percentile,
            severity=alert.severity,
            value=rule.value,
            threshold=rule.clear_threshold if _at_clearing(rule) else rule.threshold,
            samples=rule.samples,
            since=now if change.kind is Kind.FIRED or began is None else began,
            at=now,
            message=_message(rule, workload, change),
        )


def _keys(policy: Policy) -> Iterator[tuple[tuple[str, str], Alert]]:
    """(alert, workload) -> the rule. Which other workloads an alert watches is no part of it."""
    everywhere = tuple(workload.name for workload in policy.workloads)
    for alert in policy.alerts:
        rule = alert.model_copy(update={"workloads": ()})
        for workload in alert.workloads or everywhere:
            yield (alert.name, workload), rule


def _message(rule: Rule, workload: str, change: Change) -> str:
    alert = rule.alert
    head = "SLOAlertResolved" if change.kind is Kind.CLEARED else "SLOAlertFiring"
    what = label(alert.metric, alert.percentile)
    where = f"in workload {workload} (window {alert.window_s} s, {rule.samples:,} samples)"
    if change.reason is Reason.CHANGED:
        return f"{head} {alert.name}: the rule for {what} was changed or removed {where}"
    if change.reason is Reason.NO_DATA or rule.value is None:
        return f"{head} {alert.name}: no data for {what} {where}"
    last = f"{_few(rule)} now, last value " if rule.fading else ""
    return f"{head} {alert.name}: {last}{what} {_comparison(rule, rule.value)} {where}"


def _few(rule: Rule) -> str:
    if not rule.samples:
        return "no samples"
    return f"only {rule.samples:,} of {rule.alert.min_samples:,} samples"


def _comparison(rule: Rule, value: float) -> str:
    metric = rule.alert.metric
    inside, outside = (">=", "<") if is_floor(metric) else ("<=", ">")
    bound = rule.clear_threshold if _at_clearing(rule) else rule.threshold
    assert bound is not None
    words = "clearing bound " if _at_clearing(rule) else ""
    sign = inside if rule.clears(value) else outside
    return f"{show(metric, value)} {sign} {words}{show(metric, bound)}"


def _at_clearing(rule: Rule) -> bool:
    """Within the threshold, so that only the clearing bound is left to compare with."""
    return rule.value is not None and not rule.breaches(rule.value)
