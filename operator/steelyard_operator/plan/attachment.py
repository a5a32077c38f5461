"""Which policy is in force for which service: GEP-713 direct attachment, nothing merged.

Of the policies that name a service, the oldest is in force (creationTimestamp, then name; an object
without a timestamp counts as the newest). The others are told which one won. A policy that cannot
be compiled keeps its place: its service stays as it was, rather than fall to the next in line.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy

from .condition import Condition, accepted, refused

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ancestor:
    """What became of one target of one policy."""

    target: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What became of one policy, target by target."""

    namespace: str
    name: str
    ancestors: tuple[Ancestor, ...]


def precedence(policy: SLOPolicy) -> tuple[datetime, str]:
    """Sorts the policy that wins first."""
    return policy.metadata.creation_timestamp or _NEVER, policy.metadata.name


def winner(service: LLMService, policies: Iterable[SLOPolicy]) -> SLOPolicy | None:
    """The policy in force for a service, if any names it."""
    rivals = [policy for policy in policies if _targets(policy, service)]
    return min(rivals, key=precedence, default=None)


def result(
    policy: SLOPolicy,
    services: Collection[LLMService],
    policies: Collection[SLOPolicy],
    invalid: str | None,
) -> PolicyResult:
    """Conditions of a policy. `invalid` says why it cannot be compiled, if it cannot."""
    by_name = {
        service.metadata.name: service
        for service in services
        if service.metadata.namespace == policy.metadata.namespace
    }
    return PolicyResult(
        policy.metadata.namespace,
        policy.metadata.name,
        tuple(
            Ancestor(ref.name, _condition(policy, by_name.get(ref.name), policies, invalid))
            for ref in policy.spec.target_refs
        ),
    )


def _condition(
    policy: SLOPolicy,
    service: LLMService | None,
    policies: Collection[SLOPolicy],
    invalid: str | None,
) -> Condition:
    namespace = policy.metadata.namespace
    if invalid is not None:
        return refused("Invalid", invalid)
    if service is None:
        return refused("TargetNotFound", f"no LLMService of this name in namespace {namespace}")
    best = winner(service, policies)
    if best is not None and best is not policy:
        return refused("Conflicted", f"SLOPolicy {best.metadata.name} is older and in force")
    return accepted(f"in force for LLMService {service.metadata.name}")


def _targets(policy: SLOPolicy, service: LLMService) -> bool:
    return policy.metadata.namespace == service.metadata.namespace and any(
        ref.name == service.metadata.name for ref in policy.spec.target_refs
    )
