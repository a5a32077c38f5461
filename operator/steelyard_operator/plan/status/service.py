"""The status of an LLMService: conditions in the sense of kstatus, and figures.

    Ready           engines and routers available, nothing hopeless, nothing in the way of the spec
    Reconciling     only while true: moving towards the spec by itself
    Stalled         only while true: somebody has to act; excludes Reconciling
    EngineAvailable, RouterAvailable    enough pods serve now
    steelyard.io/SLOPolicyAffected      from the plan
    PredictionDrift while there are routers to ask; changes none of the others

An alert changes none of them. Equal input gives an equal status, and no Event the second time.
"""

from datetime import datetime

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan.child.name import ENGINE, ROUTER
from steelyard_operator.plan.condition import Condition
from steelyard_operator.plan.engine import DEFAULT_REPLICAS
from steelyard_operator.plan.planner import ServicePlan

from .blocker import blocker
from .deployment import rollout, selector
from .drift import drift_conditions
from .figure import models, p95_score
from .finding import SCALED_TO_ZERO, Finding, external_finding, instances, pods_finding
from .intent import StatusPlan
from .live import Object, bounded, count, rows, text
from .observed import Observed, counted
from .router import router_finding, router_row
from .service_event import service_events
from .standing import Standing, standing
from .transition import written

NEAR_S = 5.0
SOON_S = 10.0
LATER_S = 60.0


def service_status(
    service: LLMService, planned: ServicePlan, observed: Observed, *, now: datetime
) -> StatusPlan:
    """`service.status` is the stored status."""
    engine, router = _engine(service, observed, now), router_finding(observed, now)
    paused = service.spec.reconciliation == "Paused"
    block = blocker(observed)
    place = standing(engine, router, block, paused=paused, reports=observed.reports)
    generation = service.metadata.generation or 0
    conditions = [
        *place.conditions(),
        _available("EngineAvailable", engine),
        _available("RouterAvailable", router),
        *planned.conditions,
        *drift_conditions(observed.reports),
    ]
    status = {
        "observedGeneration": generation,
        "conditions": written(conditions, service.status, generation, now),
        "policies": _policies(planned),
        "router": router_row(observed),
        **_identity(service, observed),
        **_replicas(service, observed),
        **p95_score(service.status, observed.reports, now),
    }
    return StatusPlan(
        status,
        service_events(service, engine, place, observed),
        _requeue_s(place, engine, observed, paused=paused),
    )


def invalid_service_status(live: Object, problem: str, *, now: datetime) -> StatusPlan:
    """Of an object that does not parse: what runs stays, and the figures with it."""
    generation = count(live, "metadata", "generation")
    stored = live.get("status") or {}
    message = f"this LLMService cannot be read, and what runs stays as it is: {problem}"
    found = [
        Condition("Ready", "False", "InvalidSpec", message),
        Condition("Stalled", "True", "InvalidSpec", message),
    ]
    gone = {"Ready", "Reconciling", "Stalled"}
    kept = [dict(row) for row in rows(stored, "conditions") if text(row, "type") not in gone]
    return StatusPlan(
        {
            **stored,
            "observedGeneration": generation,
            "conditions": [*written(found, stored, generation, now), *kept],
        }
    )


def _engine(service: LLMService, observed: Observed, now: datetime) -> Finding:
    if service.spec.engine.type == "External":
        return external_finding(observed.reports)
    return pods_finding(
        ENGINE,
        observed.deployments.get(ENGINE),
        observed.pods.get(ENGINE, ()),
        events=observed.pod_events,
        downloads=_downloads(service),
        now=now,
    )


def _downloads(service: LLMService) -> str | None:
    """The model, if a fresh engine pod finds none of it on its disk."""
    uri, cache = service.spec.model.uri, service.spec.cache
    kept = cache is not None and cache.type == "PersistentVolumeClaim"
    real = service.spec.engine.type != "Simulator"
    return uri if real and uri is not None and uri.startswith("hf://") and not kept else None


def _available(kind: str, finding: Finding) -> Condition:
    if finding.available is None:
        return Condition(kind, "Unknown", finding.reason, finding.message)
    return Condition(
        kind, "True" if finding.available else "False", finding.reason, finding.message
    )


def _identity(service: LLMService, observed: Observed) -> Object:
    """The name and the address that clients use, as far as they are known."""
    asked = service.spec.engine.type == "External" and service.spec.model.name is None
    name = ", ".join(models(observed.reports)) if asked else service.served_name
    found = {"model": bounded(name, 253)} if name else {}
    live = observed.services.get(ROUTER)
    port = next((count(row, "port") for row in rows(live, "spec", "ports")), 0)
    if port:
        host = f"{text(live, 'metadata', 'name')}.{service.metadata.namespace}.svc"
        found["url"] = f"http://{host}" if port == 80 else f"http://{host}:{port}"
    return found


def _replicas(service: LLMService, observed: Observed) -> Object:
    """Of engines that are ours, pods; of others, the instances that the routers know."""
    if service.spec.engine.type == "External":
        counts = instances(observed.reports)
        if counts is None:
            return {}
        return {"replicas": counts[1], "readyReplicas": counts[0], "desiredReplicas": counts[1]}
    live = observed.deployments.get(ENGINE)
    if live is None:
        wanted = service.spec.replicas
        return {
            "replicas": 0,
            "readyReplicas": 0,
            "updatedReplicas": 0,
            "desiredReplicas": DEFAULT_REPLICAS if wanted is None else wanted,
        }
    state = rollout(live)
    return {
        "replicas": state.replicas,
        "readyReplicas": state.ready,
        "updatedReplicas": state.updated,
        "desiredReplicas": state.desired,
        "selector": selector(live),
    }


def _policies(planned: ServicePlan) -> list[Object]:
    return [
        {"name": use.name, "effective": use.effective, "reason": use.reason}
        for use in planned.policies[:64]
    ]


def _reloading(observed: Observed) -> bool:
    return observed.revision is not None and any(
        report.reachable and report.revision != observed.revision
        for report in counted(observed.reports)
    )


def _requeue_s(
    place: Standing, engine: Finding, observed: Observed, *, paused: bool
) -> float | None:
    """Pods and Deployments are watched; the routers' reports and the time that passes are not."""
    reports = counted(observed.reports)
    if place.stalled is None and not paused and _reloading(observed):
        return NEAR_S
    if place.reconciling is not None or (not engine.good and engine.reason != SCALED_TO_ZERO):
        return SOON_S
    return LATER_S if reports else None
