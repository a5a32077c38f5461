"""The router's configuration in a cluster, and the ConfigMap that holds it.

Two texts, so that one can stay while the other changes: `service.yaml` and `policy.yaml`.
"""

from typing import Any

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan.planner import ServicePlan
from steelyard_router import config
from steelyard_router.discovery.file import dump_config
from steelyard_router.kube.resource import CONFIG_MAP, Object

from .manifest import manifest
from .name import (
    ADMIN_PORT,
    HTTP,
    ROUTER,
    ROUTER_PORT,
    engine_name,
    router_name,
)
from .patience import router_drain_s

ANYWHERE = "0.0.0.0"
NO_UID = "none"
"""For an object that no API server has stored."""


def cluster_config(service: LLMService, planned: ServicePlan) -> config.RouterConfig:
    """What every router of the service should run. Its revision is the one they should report."""
    return planned.router.model_copy(
        update={
            "listen": config.Listen(
                host=ANYWHERE, port=ROUTER_PORT, admin_host=ANYWHERE, admin_port=ADMIN_PORT
            ),
            "drain": config.Drain(grace_s=router_drain_s(service)),
            "kubernetes": _kubernetes(service, planned),
        }
    )


def config_map(service: LLMService, planned: ServicePlan) -> Object:
    return manifest(
        CONFIG_MAP,
        service,
        ROUTER,
        router_name(service.metadata.name),
        data=dump_config(cluster_config(service, planned)),
    )


def _kubernetes(service: LLMService, planned: ServicePlan) -> config.Kubernetes:
    router = router_name(service.metadata.name)
    return config.Kubernetes(
        namespace=service.metadata.namespace,
        **_engines(service, planned),
        config_map=router,
        router_service=router,
        lease=router,
        service=config.ObjectRef(name=service.metadata.name, uid=service.metadata.uid or NO_UID),
    )


def _engines(service: LLMService, planned: ServicePlan) -> dict[str, Any]:
    """Where the engines are, in words of EndpointSlices."""
    name = service.spec.model.name
    engine = config.EngineType(service.spec.engine.type)
    if engine is not config.EngineType.EXTERNAL:
        own = engine_name(service.metadata.name)
        return {"engine_service": own, "engine_port": HTTP, "engine": engine}
    if planned.service_ref is None:
        return {"engine": engine}
    found = {"engine_service": planned.service_ref.name, "engine_port": planned.service_ref.port}
    return found | {"engine": engine} | ({} if name is None else {"models": (name,)})
