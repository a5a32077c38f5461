"""The children that run the router, and what it may do."""

from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import (
    DEPLOYMENT,
    PDB,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    Object,
)

from .manifest import manifest, selector
from .name import CLIENT_PORT, HTTP, ROUTER, router_name
from .patience import router_progress_deadline_s
from .router_pod import router_template
from .settings import Settings

DEFAULT_REPLICAS = 1


def router_deployment(service: LLMService, settings: Settings) -> Object:
    """A new router is there before an old one goes."""
    replicas = service.spec.router.replicas
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    return manifest(
        DEPLOYMENT,
        service,
        ROUTER,
        router_name(service.metadata.name),
        spec={
            "replicas": DEFAULT_REPLICAS if replicas is None else replicas,
            "progressDeadlineSeconds": router_progress_deadline_s(service),
            "selector": {"matchLabels": selector(service, ROUTER)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": router_template(service, settings),
        },
    )


def router_service(service: LLMService) -> Object:
    """What clients use."""
    asked = service.spec.router.service
    http = {
        "name": HTTP,
        "port": asked.port or CLIENT_PORT,
        "targetPort": HTTP,
        "protocol": "TCP",
    }
    return manifest(
        SERVICE,
        service,
        ROUTER,
        router_name(service.metadata.name),
        annotations=asked.annotations,
        spec={
            "type": asked.type or "ClusterIP",
            "selector": selector(service, ROUTER),
            "ports": [http],
        },
    )


def router_budget(service: LLMService) -> Object:
    """One at a time, so that a node with the only router on it can still be drained."""
    return manifest(
        PDB,
        service,
        ROUTER,
        router_name(service.metadata.name),
        spec={
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector(service, ROUTER)},
        },
    )


def router_account(service: LLMService) -> Object:
    return manifest(SERVICE_ACCOUNT, service, ROUTER, router_name(service.metadata.name))


def router_binding(service: LLMService, settings: Settings) -> Object:
    """In the service's own namespace, to a role that is shipped with the operator."""
    name = router_name(service.metadata.name)
    return manifest(
        ROLE_BINDING,
        service,
        ROUTER,
        name,
        roleRef={
            "apiGroup": ROLE_BINDING.group,
            "kind": "ClusterRole",
            "name": settings.router_cluster_role,
        },
        subjects=[
            {"kind": "ServiceAccount", "name": name, "namespace": service.metadata.namespace}
        ],
    )
