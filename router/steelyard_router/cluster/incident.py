"""One firing of one alert, and the Events that tell of it: SLOAlertFiring and SLOAlertResolved,
each on the SLOPolicy and on the LLMService, the one as the related object of the other.

The Events are the only memory that outlives a router. They carry what it takes to go on: when the
firing began and how often it was told (the occurrence, which sorts by time), the rule, its bound.
The service's Event of a firing is posted first and its Event of the end last, so while anything is
left to be done, the service's two Events say so.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, Self

from steelyard_router.kube.event import OCCURRENCE, Event, Subject
from steelyard_router.kube.resource import Object

FIRING = "SLOAlertFiring"
RESOLVED = "SLOAlertResolved"
ALERT = "steelyard.io/alert"
WORKLOAD = "steelyard.io/workload"
RULE = "steelyard.io/rule"
THRESHOLD = "steelyard.io/threshold"
NOTIFIED = "steelyard.io/notified-at"

Severity = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True)
class Incident:
    """Times are Unix milliseconds: what the annotations hold, so that nothing is lost on the way.

    `repeats` counts the notifications after the first.
    """

    service: Subject
    policy: Subject | None
    alert: str
    workload: str
    rule: str
    severity: Severity
    message: str
    threshold: float | None
    since_ms: int
    notified_ms: int
    repeats: int = 0

    @property
    def key(self) -> tuple[str, str]:
        return self.alert, self.workload

    def repeated(self, message: str, at_ms: int) -> "Incident":
        return replace(self, message=message, notified_ms=at_ms, repeats=self.repeats + 1)

    def firing(self) -> list[Event]:
        occurrence = f"{_text(self.since_ms)}/{self.repeats:05d}"
        event = self._event(FIRING, self.severity, self.message, occurrence, self.notified_ms)
        return self._on_both(event)

    def resolved(self, message: str, at_ms: int) -> list[Event]:
        event = self._event(RESOLVED, "Normal", message, _text(self.since_ms), at_ms)
        return self._on_both(event)[::-1]

    @classmethod
    def of(cls, event: Object, service: Subject) -> Self | None:
        """Out of a service's Event of a firing; None if it is not one of ours."""
        noted = event["metadata"].get("annotations") or {}
        try:
            since, _, repeats = noted[OCCURRENCE].partition("/")
            return cls(
                service=service,
                policy=_subject(event.get("related")),
                alert=noted[ALERT],
                workload=noted[WORKLOAD],
                rule=noted[RULE],
                severity="Normal" if event.get("type") == "Normal" else "Warning",
                message=str(event.get("message", "")),
                threshold=_finite(noted.get(THRESHOLD)),
                since_ms=_ms(since),
                notified_ms=_ms(noted[NOTIFIED]),
                repeats=int(repeats),
            )
        except (KeyError, ValueError):
            return None

    def _event(
        self, reason: str, severity: Severity, message: str, occurrence: str, at_ms: int
    ) -> Event:
        bound = {} if self.threshold is None else {THRESHOLD: repr(self.threshold)}
        return Event(
            involved=self.service,
            related=self.policy,
            reason=reason,
            message=message,
            type=severity,
            action="Alert",
            occurrence=occurrence,
            key=(self.service.uid, *self.key),
            annotations={
                ALERT: self.alert,
                WORKLOAD: self.workload,
                RULE: self.rule,
                NOTIFIED: _text(at_ms),
                **bound,
            },
            ordered=True,
            at=at_ms / 1000,
        )

    def _on_both(self, event: Event) -> list[Event]:
        """The service's first."""
        if self.policy is None:
            return [event]
        return [event, replace(event, involved=self.policy, related=self.service)]


@dataclass(frozen=True, slots=True)
class Memory:
    """What a service's Events say: the firings that have not ended, and per (alert, workload) the
    newest start of any.
    """

    firing: tuple[Incident, ...]
    newest_ms: dict[tuple[str, str], int]

    @classmethod
    def of(cls, events: Iterable[Object], service: Subject) -> Self:
        begun: dict[tuple[str, str], Incident] = {}
        newest: dict[tuple[str, str], int] = {}
        ended: dict[tuple[str, str], int] = {}
        for event in events:
            if event.get("reason") == FIRING and (incident := Incident.of(event, service)):
                begun[incident.key] = incident
                newest[incident.key] = max(newest.get(incident.key, 0), incident.since_ms)
            elif event.get("reason") == RESOLVED and (end := _end(event)):
                key, ended[key] = end
                newest[key] = max(newest.get(key, 0), ended[key])
        firing = [i for key, i in begun.items() if i.since_ms > ended.get(key, -1)]
        return cls(tuple(firing), newest)


def _end(event: Object) -> tuple[tuple[str, str], int] | None:
    noted = event["metadata"].get("annotations") or {}
    try:
        return (noted[ALERT], noted[WORKLOAD]), _ms(noted[OCCURRENCE])
    except (KeyError, ValueError):
        return None


def _subject(reference: Object | None) -> Subject | None:
    if not reference:
        return None
    return Subject(
        reference["apiVersion"],
        reference["kind"],
        reference["namespace"],
        reference["name"],
        reference["uid"],
    )


def _finite(text: str | None) -> float | None:
    value = float(text) if text is not None else math.nan
    return value if math.isfinite(value) else None


def _text(ms: int) -> str:
    """RFC 3339 of one length, so that it sorts as time does."""
    moment = datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{ms % 1000:03d}Z"


def _ms(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
