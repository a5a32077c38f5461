"""Everything that one service needs in its namespace, as manifests."""

from collections.abc import Iterator, Mapping

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan.planner import ServicePlan
from steelyard_router.kube.resource import DEPLOYMENT, SERVICE_ACCOUNT, Object

from . import account, engine, network, router
from .config_map import config_map
from .name import engine_name, router_name
from .ownership import CHILDREN, Key
from .settings import Settings

_ORDER = {resource.kind: place for place, resource in enumerate(CHILDREN)}


def children(
    service: LLMService,
    planned: ServicePlan,
    live: Mapping[Key, Object],
    settings: Settings,
) -> tuple[Object, ...]:
    """In the order of apply: what pods need comes before the pods.

    `live` is what is there, by kind and name; only what the Deployments record is read, and
    which ServiceAccount there is.
    """
    found = [*_engine(service, live, settings), *_router(service, planned, live, settings)]
    return tuple(sorted(found, key=lambda item: _ORDER[item["kind"]]))


def _engine(
    service: LLMService, live: Mapping[Key, Object], settings: Settings
) -> Iterator[Object]:
    if service.spec.engine.type == "External":
        return
    claim = engine.cache_claim(service)
    if claim is not None:
        yield claim
    yield engine.engine_service(service)
    if service.spec.network_policy == "Enabled":
        yield network.engine_network(service)
    yield engine.engine_budget(service)
    current = live.get((DEPLOYMENT.kind, engine_name(service.metadata.name)))
    yield engine.engine_deployment(service, current, settings)


def _router(
    service: LLMService, planned: ServicePlan, live: Mapping[Key, Object], settings: Settings
) -> Iterator[Object]:
    name = router_name(service.metadata.name)
    yield router.router_account(service)
    yield router.router_binding(service, settings)
    yield config_map(service, planned)
    yield router.router_service(service)
    if service.spec.network_policy == "Enabled":
        yield network.router_network(service)
    yield router.router_budget(service)
    yield account.followed(
        router.router_deployment(service, settings),
        live.get((DEPLOYMENT.kind, name)),
        live.get((SERVICE_ACCOUNT.kind, name)),
    )
