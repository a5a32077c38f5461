"""What the routers measured for a policy, copied: alert states and attainment.

The operator merges nothing: the replica that holds the alert Lease has merged, and its report
counts, provided that it speaks of this very policy. Where no holder answers, or has not merged yet,
the stored rows stay; where the service or its routers are gone, they go.

A policy on trial is measured by each replica for itself: its rows are the holder's own traffic.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from math import floor

from steelyard_operator.plan.attachment import PolicyResult

from .figure import workloads
from .live import Live, Object, at, count, moment, rows, stamp, text
from .measured import moved, rested
from .observed import holder
from .programmed import Target

ROWS = 64
ORDER = ("Firing", "Pending", "OK", "NoData")
_CALM = frozenset({"OK", "Pending"})
_FLOAT_DUST = 1e-9
_JITTER = timedelta(seconds=5)
"""A router tells when a state began by its own clock, anew each time it is asked."""

Key = tuple[str, str, str]


def measurements(
    result: PolicyResult, targets: Mapping[str, Target], stored: object, now: datetime
) -> Object:
    """The keys of the status that hold measured values, as they should be stored."""
    states, shares = _now(result, targets, stored)
    before, shares_before = _listed(stored, "alerts"), _listed(stored, "attainment")
    time = text(stored, "measuredTime")
    if _verdicts(states) != _verdicts(before) or (
        rested(moment(time), now) and (_drifted(states, before) or _drifted(shares, shares_before))
    ):
        time = stamp(now)
    else:
        states, shares = before, shares_before
    parts = {"alerts": states, "attainment": shares, "measuredTime": time}
    firing = sum(row.get("state") == "Firing" for row in states)
    return {"firing": firing} | {key: part for key, part in parts.items() if part}


def _now(
    result: PolicyResult, targets: Mapping[str, Target], stored: object
) -> tuple[list[Object], list[Object]]:
    """Alert and attainment rows as the reports have them, in a fixed order."""
    before = {_key(row): row for row in rows(stored, "alerts")}
    states: list[Object] = []
    shares: list[Object] = []
    for service, section in _sections(result, targets):
        measured = None if section is None else workloads(section)
        if section is None:
            states += _stored(stored, "alerts", service)
        else:
            states += _states(service, section, before)
        if measured is None:
            shares += _stored(stored, "attainment", service)
        else:
            shares += _shares(service, measured)
    states.sort(key=lambda row: (ORDER.index(row["state"]), _key(row)))
    return states[:ROWS], sorted(shares, key=_key)[:ROWS]


def _sections(
    result: PolicyResult, targets: Mapping[str, Target]
) -> Iterator[tuple[str, Live | None]]:
    """Per service, the part of its holder's report that is about this policy; None: no holder."""
    for ancestor in result.ancestors:
        target = targets.get(ancestor.target)
        if target is None or not target.reports or ancestor.rival is not None:
            continue
        source = holder(target.reports)
        if source is None:
            yield ancestor.target, None
            continue
        dry = result.claim.dry_run
        section = at(source.status, "shadow") if dry else source.status
        uid = at(section, "uid") if dry else at(section, "policy_ref", "uid")
        if isinstance(section, Mapping) and uid is not None and uid == result.claim.uid:
            yield ancestor.target, section


def _states(service: str, section: Live, before: Mapping[Key, Live]) -> Iterator[Object]:
    for alert in rows(section, "alerts"):
        if text(alert, "state") not in ORDER:
            continue
        row = {
            "service": service,
            "alert": text(alert, "alert"),
            "workload": text(alert, "workload"),
            "state": text(alert, "state"),
        }
        since = _since(alert, row, before.get(_key(row), {}))
        value = _number(alert.get("value"))
        extras = {"since": since, "value": None if value is None else _shown(value)}
        yield row | {key: part for key, part in extras.items() if part is not None}


def _since(alert: Live, row: Live, before: Live) -> str | None:
    told, known = moment(alert.get("since")), moment(before.get("since"))
    if told is None:
        return None
    if known is not None and before.get("state") == row["state"] and abs(told - known) <= _JITTER:
        return text(before, "since")
    return stamp(told)


def _shares(service: str, measured: Iterable[Live]) -> Iterator[Object]:
    for workload in measured:
        percent = _number(workload.get("attainment_percent"))
        if percent is None:
            continue
        name = text(workload, "name")
        row = {"service": service, "workload": name, "percent": floor(percent + _FLOAT_DUST)}
        target = count(workload, "attainment_target_percent")
        yield row | ({"targetPercent": target} if target else {})


def _verdicts(states: Iterable[Live]) -> dict[Key, tuple[str, str]]:
    """What is written at once: which alerts there are, what fires since when, what has no data."""
    return {
        _key(row): ("calm", "")
        if row["state"] in _CALM
        else (text(row, "state"), text(row, "since") if row["state"] == "Firing" else "")
        for row in states
    }


def _drifted(new: list[Object], old: list[Object]) -> bool:
    """Whether figures differ enough, or a calm state changed."""
    before = {_key(row): row for row in old}
    if {_key(row) for row in new} != before.keys():
        return True
    return any(
        row.get("state") != before[_key(row)].get("state")
        or row.get("targetPercent") != before[_key(row)].get("targetPercent")
        or _moved(_figure(before[_key(row)]), _figure(row))
        for row in new
    )


def _moved(old: float | None, new: float | None) -> bool:
    return moved(old, new) if old is not None and new is not None else old != new


def _figure(row: Live) -> float | None:
    found = row.get("value", row.get("percent"))
    try:
        return None if found is None else float(found)
    except (TypeError, ValueError):
        return None


def _listed(stored: object, field: str) -> list[Object]:
    """Stored rows; those that no operator could have written are forgotten."""
    return [
        dict(row)
        for row in rows(stored, field)
        if text(row, "service") and (field != "alerts" or row.get("state") in ORDER)
    ]


def _stored(stored: object, field: str, service: str) -> list[Object]:
    return [row for row in _listed(stored, field) if row["service"] == service]


def _key(row: Live) -> Key:
    return text(row, "service"), text(row, "alert"), text(row, "workload")


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _shown(value: float) -> str:
    """In the unit of the alert's metric, without separators, so that programs can read it."""
    return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.1f}"
