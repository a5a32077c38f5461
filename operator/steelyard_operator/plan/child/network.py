"""Who may talk to the pods, where networkPolicy is Enabled."""

from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import NETWORK_POLICY, Object

from .manifest import manifest, selector
from .name import ADMIN, ENGINE, HTTP, ROUTER, Component, engine_name, router_name


def engine_network(service: LLMService) -> Object:
    """Only this service's router."""
    router = {"podSelector": {"matchLabels": selector(service, ROUTER)}}
    rule = {"from": [router], "ports": [_port(HTTP)]}
    return _policy(service, ENGINE, engine_name(service.metadata.name), [rule])


def router_network(service: LLMService) -> Object:
    """Anyone for requests; any pod of the cluster for metrics and status."""
    requests = {"ports": [_port(HTTP)]}
    status = {"from": [{"namespaceSelector": {}}], "ports": [_port(ADMIN)]}
    return _policy(service, ROUTER, router_name(service.metadata.name), [requests, status])


def _policy(service: LLMService, component: Component, name: str, ingress: list[Object]) -> Object:
    return manifest(
        NETWORK_POLICY,
        service,
        component,
        name,
        spec={
            "podSelector": {"matchLabels": selector(service, component)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    )


def _port(name: str) -> Object:
    return {"port": name, "protocol": "TCP"}
