"""The children that run engines: none for engines that someone else runs."""

from steelyard_operator.api.cache import Cache, ClaimTemplate
from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan.engine import DEFAULT_REPLICAS
from steelyard_router.kube.resource import (
    DEPLOYMENT,
    PDB,
    PVC,
    SERVICE,
    Object,
)

from . import record
from .engine_command import port
from .engine_pod import engine_template
from .manifest import manifest, selector
from .name import ENGINE, HTTP, cache_name, engine_name
from .patience import progress_deadline_s
from .pod import present
from .settings import Settings

REVISIONS = 3
"""Old ReplicaSets that are kept: each carries the record."""


def engine_deployment(service: LLMService, live: Object | None, settings: Settings) -> Object:
    """`live` is this Deployment as it is, for the template that it records."""
    template = record.decided(service, live, engine_template(service, settings))
    replicas = service.spec.replicas
    return manifest(
        DEPLOYMENT,
        service,
        ENGINE,
        engine_name(service.metadata.name),
        annotations=record.annotations(service, template),
        spec={
            "replicas": DEFAULT_REPLICAS if replicas is None else replicas,
            "revisionHistoryLimit": REVISIONS,
            "progressDeadlineSeconds": progress_deadline_s(service),
            "selector": {"matchLabels": selector(service, ENGINE)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": _rolling(service)},
            "template": template,
        },
    )


def _rolling(service: LLMService) -> Object:
    """No surge: accelerators are seldom free, and a surge would wait for one for ever."""
    rollout = service.spec.rollout
    surge = rollout and rollout.max_surge
    unavailable = rollout and rollout.max_unavailable
    return {"maxSurge": surge or 0, "maxUnavailable": 1 if unavailable is None else unavailable}


def engine_service(service: LLMService) -> Object:
    """Headless: its EndpointSlices tell the router which engines there are."""
    http = {"name": HTTP, "port": port(service), "targetPort": HTTP, "protocol": "TCP"}
    return manifest(
        SERVICE,
        service,
        ENGINE,
        engine_name(service.metadata.name),
        spec={
            "type": "ClusterIP",
            "clusterIP": "None",
            "publishNotReadyAddresses": False,
            "selector": selector(service, ENGINE),
            "ports": [http],
        },
    )


def engine_budget(service: LLMService) -> Object:
    """One at a time, so that a node with the only engine on it can still be drained.

    An engine that is not healthy may always go: it may never become so.
    """
    asked = service.spec.disruption
    bound = present(
        minAvailable=asked and asked.min_available, maxUnavailable=asked and asked.max_unavailable
    )
    return manifest(
        PDB,
        service,
        ENGINE,
        engine_name(service.metadata.name),
        spec={
            **(bound or {"maxUnavailable": 1}),
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector(service, ENGINE)},
        },
    )


def cache_claim(service: LLMService) -> Object | None:
    """The claim that the spec has a template for. It stays when the service goes, unless asked."""
    cache = service.spec.cache
    if cache is None or cache.template is None:
        return None
    return manifest(
        PVC,
        service,
        ENGINE,
        cache_name(service.metadata.name),
        owned=not retained(cache),
        spec=_claim(cache.template),
    )


def retained(cache: Cache) -> bool:
    return cache.retention != "Delete"


def _claim(template: ClaimTemplate) -> Object:
    return present(
        accessModes=list(template.access_modes or ("ReadWriteOnce",)),
        storageClassName=template.storage_class_name,
        resources={"requests": {"storage": template.size}},
    )
