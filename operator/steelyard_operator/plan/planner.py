"""From objects to what should run: engines and a router configuration for each service.

Pure and total: the same objects give an equal plan, and no policy, however wrong, takes a service
out of it. What was wrong is said in conditions. Local processes and Kubernetes children are both
made from this.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from steelyard_operator.api.engine import ServiceRef
from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_router import config

from .attachment import PolicyResult, PolicyUse, result, uses
from .claim import Claim, claim
from .condition import Condition
from .engine import EngineProcess, engines, external_endpoints
from .policy_part import policy_part

API_KEYS_FILE = "/etc/steelyard-keys/keys"
"""Where a router in a cluster finds the key of router.apiKeySecretRef."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What one service needs.

    `router` holds the `service` and `policy` parts. Its endpoints are those of External engines;
    whoever runs `engines` adds theirs. `service_ref` names engines that only a cluster can find.
    """

    key: Key
    engines: tuple[EngineProcess, ...]
    service_ref: ServiceRef | None
    router: config.RouterConfig
    conditions: tuple[Condition, ...]
    policies: tuple[PolicyUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that should run, and what became of every policy."""

    services: tuple[ServicePlan, ...] = ()
    policies: tuple[PolicyResult, ...] = ()


def plan(
    services: Collection[LLMService],
    policies: Collection[SLOPolicy],
    running: Mapping[Key, config.RouterConfig] | None = None,
    unreadable: Collection[Claim] = (),
) -> Plan:
    """`running` is what routers were told last: what a service keeps if its policy is invalid.

    `unreadable` are the claims of policies that no model takes; they follow the others in the plan.
    """
    kept = running or {}
    claims = (*(claim(policy) for policy in policies), *unreadable)
    return Plan(
        tuple(_service(service, claims, kept) for service in services),
        tuple(result(item, services, claims) for item in claims),
    )


def _service(
    service: LLMService,
    claims: Collection[Claim],
    running: Mapping[Key, config.RouterConfig],
) -> ServicePlan:
    key = Key(service.metadata.namespace, service.metadata.name)
    part = policy_part(service, claims, running.get(key))
    return ServicePlan(
        key=key,
        engines=engines(service),
        service_ref=service.spec.engine.service_ref,
        router=config.RouterConfig(service=_router_service(service), **part.given),
        conditions=(part.condition,),
        policies=uses(service, claims),
    )


def _router_service(service: LLMService) -> config.Service:
    hints, keys = service.spec.router.client_hints, service.spec.router.api_key_secret_ref
    return config.Service(
        name=service.metadata.name,
        endpoints=external_endpoints(service),
        **({} if hints is None else {"client_hints": config.ClientHints(hints)}),
        **({} if keys is None else {"api_keys_file": API_KEYS_FILE}),
    )
