"""Events of a service: what changed since the stored status, each change once."""

from collections.abc import Iterator

from steelyard_operator.api.llmservice import LLMService

from .finding import UPDATING, Finding
from .intent import EventIntent
from .live import bounded, rows, text
from .observed import Observed
from .standing import RELOAD_FAILED, Standing
from .transition import find

LOAD_FAILED = "ModelLoadFailed"


def service_events(
    service: LLMService, engine: Finding, place: Standing, observed: Observed
) -> tuple[EventIntent, ...]:
    return tuple(_events(service, engine, place, observed))


def _events(
    service: LLMService, engine: Finding, place: Standing, observed: Observed
) -> Iterator[EventIntent]:
    stored = service.status
    updating = text(find(stored, "Reconciling"), "reason") == UPDATING
    now_updating = place.reconciling is not None and place.reconciling.reason == UPDATING
    state = engine.rollout
    if state is not None and now_updating and not updating:
        yield _event(
            service,
            "RolloutStarted",
            "Rollout",
            f"rolling out a new engine template to {state.desired} replicas",
            f"started/{state.id}",
        )
    if state is not None and updating and not state.rolling and state.overdue is None:
        yield _event(
            service,
            "RolloutCompleted",
            "Rollout",
            f"all {state.desired} engine replicas are of the new template",
            f"completed/{state.id}",
        )
    if (failed := _load_failed(service, engine, place)) is not None:
        yield failed
    if (reload := _reload_failed(service, place)) is not None:
        yield reload
    if observed.corrected:
        yield _corrected(service, observed)


def _load_failed(service: LLMService, engine: Finding, place: Standing) -> EventIntent | None:
    told = engine.reason == LOAD_FAILED or any(
        item.reason == LOAD_FAILED for item in place.conditions()
    )
    before = any(text(row, "reason") == LOAD_FAILED for row in rows(service.status, "conditions"))
    if not told or before or engine.trouble is None:
        return None
    return _event(
        service,
        LOAD_FAILED,
        "Load",
        engine.trouble.message,
        f"{service.metadata.generation}/{engine.trouble.uid}",
        warning=True,
    )


def _reload_failed(service: LLMService, place: Standing) -> EventIntent | None:
    stalled, before = place.stalled, find(service.status, "Stalled")
    if stalled is None or stalled.reason != RELOAD_FAILED:
        return None
    if text(before, "reason") == RELOAD_FAILED:
        return None
    since = text(before, "lastTransitionTime")
    occurrence = f"{service.metadata.generation}/{since}/{bounded(stalled.message, 200)}"
    return _event(service, RELOAD_FAILED, "Reload", stalled.message, occurrence, warning=True)


def _corrected(service: LLMService, observed: Observed) -> EventIntent:
    found = sorted(observed.corrected)
    names = ", ".join(f"{kind} {name}" for kind, name, _ in found)
    return _event(
        service,
        "DriftCorrected",
        "Correct",
        f"{names}: changed or deleted by someone else, and put back as this LLMService wants it",
        "/".join(f"{kind}/{name}/{version}" for kind, name, version in found),
    )


def _event(
    service: LLMService,
    reason: str,
    action: str,
    message: str,
    occurrence: str,
    *,
    warning: bool = False,
) -> EventIntent:
    return EventIntent(
        about="service",
        name=service.metadata.name,
        uid=service.metadata.uid or "",
        type="Warning" if warning else "Normal",
        reason=reason,
        action=action,
        message=message,
        occurrence=occurrence,
    )
