"""From objects to what should run: engines and a router configuration for each service.

Pure and total: the same objects give an equal plan, and no policy, however wrong, takes a service
out of it. What was wrong is said in conditions. Local processes and Kubernetes children are both
made from this.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from steelyard_operator.api.llmservice import LLMService, ServiceRef
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.errors import InvalidPolicyError
from steelyard_router import config

from .attachment import PolicyResult, result, winner
from .condition import POLICY_AFFECTED, Condition
from .engine import EngineProcess, engines, external_endpoints
from .policy import compile_policy


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that should run, and what became of every policy."""

    services: tuple[ServicePlan, ...] = ()
    policies: tuple[PolicyResult, ...] = ()


def plan(
    services: Collection[LLMService],
    policies: Collection[SLOPolicy],
    running: Mapping[Key, config.Policy] | None = None,
) -> Plan:
    """`running` holds the policy parts in force: what a service keeps if its policy is invalid."""
    kept = running or {}
    compiled = {_key(policy): _compiled(policy) for policy in policies}
    return Plan(
        tuple(_service(service, policies, compiled, kept) for service in services),
        tuple(_result(policy, services, policies, compiled[_key(policy)]) for policy in policies),
    )


Compiled = config.Policy | InvalidPolicyError


def _key(item: LLMService | SLOPolicy) -> Key:
    return Key(item.metadata.namespace, item.metadata.name)


def _compiled(policy: SLOPolicy) -> Compiled:
    try:
        return compile_policy(policy)
    except InvalidPolicyError as error:
        return error


def _result(
    policy: SLOPolicy,
    services: Collection[LLMService],
    policies: Collection[SLOPolicy],
    compiled: Compiled,
) -> PolicyResult:
    invalid = str(compiled) if isinstance(compiled, InvalidPolicyError) else None
    return result(policy, services, policies, invalid)


def _service(
    service: LLMService,
    policies: Collection[SLOPolicy],
    compiled: Mapping[Key, Compiled],
    running: Mapping[Key, config.Policy],
) -> ServicePlan:
    key = _key(service)
    best = winner(service, policies)
    policy, condition = config.Policy(), _unaffected()
    if best is not None:
        outcome = compiled[_key(best)]
        if isinstance(outcome, InvalidPolicyError):
            policy = running.get(key, policy)
            condition = _stale(best, kept=key in running)
        else:
            policy, condition = outcome, _affected(best)
    router = config.RouterConfig(service=_router_service(service), policy=policy)
    service_ref = service.spec.engine.service_ref
    return ServicePlan(key, engines(service), service_ref, router, (condition,))


def _router_service(service: LLMService) -> config.Service:
    hints = service.spec.router.client_hints
    return config.Service(
        name=service.metadata.name,
        endpoints=external_endpoints(service),
        **({} if hints is None else {"client_hints": config.ClientHints(hints)}),
    )


def _affected(policy: SLOPolicy) -> Condition:
    return Condition(
        POLICY_AFFECTED, "True", "PolicyInForce", f"SLOPolicy {policy.metadata.name} is in force"
    )


def _unaffected() -> Condition:
    return Condition(
        POLICY_AFFECTED, "False", "NoPolicy", "no SLOPolicy names this service: router defaults"
    )


def _stale(policy: SLOPolicy, *, kept: bool) -> Condition:
    state = "the last good configuration stays" if kept else "router defaults"
    return Condition(
        POLICY_AFFECTED,
        "False",
        "PolicyInvalid",
        f"SLOPolicy {policy.metadata.name} is invalid: {state}",
    )
