"""The pod template of a router. It follows nothing that a router takes over while it runs.

A policy edit changes the ConfigMap, which is mounted as a whole (a subPath would never be
refreshed) and leaves no mark here.
"""

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan.planner import API_KEYS_FILE
from steelyard_router.kube.resource import Object

from . import security, volume
from .engine_command import overlaid
from .manifest import labels, selector
from .name import (
    ADMIN,
    ADMIN_PORT,
    CONFIG_DIR,
    HTTP,
    ROUTER,
    ROUTER_PORT,
    engine_name,
    router_name,
)
from .patience import SETTLE_S, router_grace_s
from .pod import image, pod_template, present
from .probe import router_probes
from .settings import Settings
from .volume import Volume

ENGINE_SERVICE = "steelyard.io/engine-service"
"""On the pods: a router follows the Service that it started with, so another one makes new ones."""
RESOURCES: Object = {"requests": {"cpu": "100m", "memory": "256Mi"}}
OWNER_AND_GROUP_MAY_READ = 0o440


def router_template(service: LLMService, settings: Settings) -> Object:
    """Pod metadata and spec, with the user's podTemplate laid over them."""
    volumes = _volumes(service)
    spec = present(
        serviceAccountName=router_name(service.metadata.name),
        terminationGracePeriodSeconds=router_grace_s(service),
        securityContext=security.restricted_pod(),
        topologySpreadConstraints=[_spread(service)],
        containers=[_container(service, settings, volumes)],
        volumes=[item.volume for item in volumes],
    )
    followed = _engine_service(service)
    annotations = None if followed is None else {ENGINE_SERVICE: followed}
    metadata = present(labels=labels(service, ROUTER), annotations=annotations)
    return pod_template(metadata, spec, service.spec.router.pod_template)


def _container(service: LLMService, settings: Settings, volumes: list[Volume]) -> Object:
    router = service.spec.router
    return present(
        name=ROUTER,
        **image(router.image or settings.image, None, settings),
        command=["steelyard"],
        args=["router", "--config", CONFIG_DIR],  # ours, so that nobody else's arguments stay
        env=overlaid(_identity(), router.env),
        ports=[_port(HTTP, ROUTER_PORT), _port(ADMIN, ADMIN_PORT)],
        resources=router.resources or RESOURCES,
        **router_probes(ADMIN),
        # Nobody new comes while it sleeps; then SIGTERM, and what runs is finished.
        lifecycle={"preStop": {"sleep": {"seconds": SETTLE_S}}},
        securityContext=security.restricted_container(),
        volumeMounts=[item.mount for item in volumes],
    )


def _engine_service(service: LLMService) -> str | None:
    """Whose EndpointSlices the routers follow; None where engines have given addresses."""
    if service.spec.engine.type != "External":
        return engine_name(service.metadata.name)
    reference = service.spec.engine.service_ref
    return None if reference is None else reference.name


def _port(name: str, number: int) -> Object:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _identity() -> list[Object]:
    """Which replica it is."""
    fields = {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_IP": "status.podIP",
    }
    return [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in fields.items()
    ]


def _volumes(service: LLMService) -> list[Volume]:
    config = {"configMap": {"name": router_name(service.metadata.name)}}
    found = [volume.scratch(), Volume("config", CONFIG_DIR, config, read_only=True)]
    keys = service.spec.router.api_key_secret_ref
    if keys is not None:
        folder, _, file = API_KEYS_FILE.rpartition("/")
        secret = {
            "secretName": keys.name,
            "items": [{"key": keys.key, "path": file}],
            "defaultMode": OWNER_AND_GROUP_MAY_READ,
        }
        found.append(Volume("keys", folder, {"secret": secret}, read_only=True))
    return found


def _spread(service: LLMService) -> Object:
    """On different nodes where that can be had."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector(service, ROUTER)},
    }
