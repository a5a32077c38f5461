"""PredictionDrift of a service: whether the latency predictions of its routers still fit.

True while a monitor of any replica drifts and has for long enough: each router judges that by its
own clock, as it does for its Event of the same name. Reason and message have no figures, which
change all the time, so a drift that goes on is no reason to write. It changes no other condition.
"""

from collections.abc import Iterable, Mapping, Sequence

from steelyard_operator.plan.condition import Condition

from .live import rows, text
from .observed import RouterReport, counted

TYPE = "PredictionDrift"
MONITORS = {
    "clock": ("Clock", "engines take another time for the same work than they did"),
    "error": ("Error", "predictions are off by more than usual"),
    "input": ("Input", "requests are not what they usually are"),
}
"""What a router watches: the reason, and what has drifted."""


def drift_conditions(reports: Iterable[RouterReport]) -> list[Condition]:
    """One; none where there is no router to ask."""
    asked = counted(reports)
    return [_condition(asked)] if asked else []


def _condition(asked: Sequence[RouterReport]) -> Condition:
    if found := _drifting(asked):
        reason = ",".join(MONITORS[monitor][0] for monitor in found)
        parts = (f"{MONITORS[monitor][1]} ({where})" for monitor, where in found.items())
        words = f"{'; '.join(parts)}; the routers' /status has the figures"
        return Condition(TYPE, "True", reason, words)
    silent = next((report.pod for report in asked if not _tells(report)), None)
    if silent is not None:
        words = f"router pod {silent} does not say whether its predictions drift"
        return Condition(TYPE, "Unknown", "NotReported", words)
    return Condition(TYPE, "False", "NotDrifting", "latency predictions fit as they usually do")


def _drifting(reports: Iterable[RouterReport]) -> Mapping[str, str]:
    """Of each monitor that drifts anywhere, the workloads or instances, in a fixed order."""
    places: dict[str, set[str]] = {}
    for report in reports:
        for row in rows(report.status, "prediction", "drift"):
            if row.get("lasting") is True:
                places.setdefault(text(row, "monitor"), set()).update(_names(row.get("where")))
    return {name: ", ".join(sorted(places[name])) for name in MONITORS if name in places}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _tells(report: RouterReport) -> bool:
    """A router of before this condition has no word for it."""
    return any("lasting" in row for row in rows(report.status, "prediction", "drift"))
