"""Figures of a service, out of the report of the router that merges those of all.

Those are what it says under `service`. A router of before that key has figures of itself only,
which is as near as one gets until it is replaced.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from .live import Live, Object, at, moment, rows, stamp
from .measured import moved, rested
from .observed import RouterReport, holder


def p95_score(stored: object, reports: Iterable[RouterReport], now: datetime) -> Object:
    """p95Score of the workload where it is highest, and when it was written."""
    kept = {
        key: value for key in ("p95Score", "measuredTime") if (value := at(stored, key)) is not None
    }
    source = holder(reports)
    found = None if source is None else workloads(source.status)
    if found is None:
        return kept
    scores = [at(row, "score", "p95") for row in found]
    known = [score for score in scores if isinstance(score, int | float)]
    new, old = round(max(known)) if known else None, kept.get("p95Score")
    if not _differs(old, new) or not rested(moment(kept.get("measuredTime")), now):
        return kept
    time = {"measuredTime": stamp(now)}
    return time if new is None else {"p95Score": new, **time}


def workloads(status: Live) -> tuple[Live, ...] | None:
    """What a holder knows of each workload; None while it has yet to hear the other replicas."""
    if "service" not in status:
        return tuple(rows(status, "workloads"))
    service = status["service"]
    return tuple(rows(service, "workloads")) if isinstance(service, Mapping) else None


def models(reports: Iterable[RouterReport]) -> tuple[str, ...]:
    """What the engines behind the routers say that they serve."""
    return tuple(
        sorted(
            {
                name
                for report in reports
                for row in rows(report.status, "instances")
                for name in _names(row)
            }
        )
    )


def _names(row: Mapping[str, object]) -> list[str]:
    names = row.get("models")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _differs(old: object, new: int | None) -> bool:
    if not isinstance(old, int) or new is None:
        return old != new
    return moved(old, new)
