"""Conditions as they are stored: lastTransitionTime moves only with the status."""

from collections.abc import Iterable
from datetime import datetime

from steelyard_operator.plan.condition import Condition

from .live import Live, Object, bounded, moment, rows, stamp, text

MESSAGE_CHARACTERS = 1024


def written(
    conditions: Iterable[Condition], stored: object, generation: int, now: datetime
) -> list[Object]:
    """The list to store; `stored` is the object that held the last one under `conditions`."""
    before = {text(row, "type"): row for row in rows(stored, "conditions")}
    return [_row(item, before.get(item.type, {}), generation, now) for item in conditions]


def find(stored: object, kind: str) -> Live:
    """The stored condition of this type; empty when there is none."""
    return next((row for row in rows(stored, "conditions") if text(row, "type") == kind), {})


def _row(condition: Condition, before: Live, generation: int, now: datetime) -> Object:
    since = text(before, "lastTransitionTime")
    kept = before.get("status") == condition.status and moment(since) is not None
    return {
        "type": condition.type,
        "status": condition.status,
        "observedGeneration": generation,
        "lastTransitionTime": since if kept else stamp(now),
        "reason": condition.reason,
        "message": bounded(condition.message, MESSAGE_CHARACTERS),
    }
