"""Ready, Reconciling and Stalled of a service, out of what was found of its parts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from steelyard_operator.plan.condition import Condition

from .blocker import Blocker
from .finding import UPDATING, Finding
from .observed import RouterReport, counted
from .router import NOT_READY

RELOAD_FAILED = "ConfigReloadFailed"


@dataclass(frozen=True, slots=True)
class Standing:
    """At most one of `reconciling` and `stalled` is there."""

    ready: Condition
    reconciling: Condition | None = None
    stalled: Condition | None = None

    def conditions(self) -> tuple[Condition, ...]:
        return tuple(item for item in (self.ready, self.reconciling, self.stalled) if item)


def standing(
    engine: Finding,
    router: Finding,
    block: Blocker | None,
    *,
    paused: bool,
    reports: Iterable[RouterReport],
) -> Standing:
    if paused:
        return Standing(
            Condition(
                "Ready",
                "False",
                "Paused",
                "reconciliation is Paused: what runs stays, and changes of the spec wait",
            )
        )
    if block is not None and (block.stalled or block.unready):
        unready = Condition("Ready", "False", block.reason, block.message)
        if block.stalled:
            return Standing(unready, stalled=replace(unready, type="Stalled", status="True"))
        return Standing(unready, reconciling=replace(unready, type="Reconciling", status="True"))
    ready = _ready(engine, router)
    if (stalled := _stalled(engine, router, reports)) is not None:
        return Standing(ready, stalled=stalled)
    return Standing(ready, reconciling=_reconciling(engine, router, block))


def _ready(engine: Finding, router: Finding) -> Condition:
    """The engines' reason first: a router without engines only says so again."""
    bad = [part for part in (engine, router) if not part.good]
    if not bad:
        return Condition("Ready", "True", "Available", f"{engine.message}; {router.message}")
    worst = min(bad, key=lambda part: not part.failed)
    unknown = all(part.available is None for part in bad)
    return Condition("Ready", "Unknown" if unknown else "False", worst.reason, worst.message)


def _stalled(engine: Finding, router: Finding, reports: Iterable[RouterReport]) -> Condition | None:
    for part in (engine, router):
        if part.failed:
            return Condition("Stalled", "True", part.reason, part.message)
    for report in counted(reports):
        if report.config_error is not None:
            return Condition(
                "Stalled",
                "True",
                RELOAD_FAILED,
                f"router pod {report.pod} keeps its last good configuration: {report.config_error}",
            )
    return None


def _reconciling(engine: Finding, router: Finding, block: Blocker | None) -> Condition | None:
    if block is not None:
        return Condition("Reconciling", "True", block.reason, block.message)
    for part in (engine, router):
        if part.moving is None or (part.moving == NOT_READY and engine.available is not True):
            continue
        return Condition("Reconciling", "True", part.moving, _progress(part))
    return None


def _progress(part: Finding) -> str:
    state = part.rollout
    if state is None or part.moving == NOT_READY:
        return part.message
    if part.moving is not None and part.moving.endswith(UPDATING):
        return (
            f"{state.updated} of {state.desired} pods are of the new template, "
            f"{state.ready} are ready"
        )
    return part.trouble.message if part.trouble else f"{state.ready} of {state.desired} are ready"
