"""Which policy is in force for which service: GEP-713 direct attachment, nothing merged.

Of the policies that name a service, the oldest is in force (creationTimestamp, then name; an object
without a timestamp counts as the newest). The others are told which one won. A policy that cannot
be compiled keeps its place: its service stays as it was, rather than fall to the next in line.

A policy with mode DryRun is never in force and keeps nobody else from it. The oldest of them is on
trial: measured beside the one in force.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from steelyard_operator.api.llmservice import LLMService

from .claim import Claim
from .condition import Condition, accepted, refused


@dataclass(frozen=True, slots=True)
class Ancestor:
    """What became of one target of one policy. `rival` is the policy that won instead."""

    target: str
    condition: Condition
    rival: Claim | None = None


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What became of one policy, target by target."""

    claim: Claim
    ancestors: tuple[Ancestor, ...]

    @property
    def namespace(self) -> str:
        return self.claim.namespace

    @property
    def name(self) -> str:
        return self.claim.name


@dataclass(frozen=True, slots=True)
class PolicyUse:
    """One policy as a service that it names sees it. Effective: it decides how requests go."""

    name: str
    effective: bool
    reason: str


def winner(service: LLMService, claims: Iterable[Claim]) -> Claim | None:
    """The policy in force for a service, if any names it."""
    return _oldest(service, claims, dry_run=False)


def trial(service: LLMService, claims: Iterable[Claim]) -> Claim | None:
    """The policy that is measured beside it, if any."""
    return _oldest(service, claims, dry_run=True)


def uses(service: LLMService, claims: Collection[Claim]) -> tuple[PolicyUse, ...]:
    """Every policy that names the service, in the order in which they would win."""
    found = []
    for item in sorted((c for c in claims if _names(c, service)), key=lambda c: c.precedence):
        condition = _ancestor(item, service.metadata.name, service, claims).condition
        in_force = condition.status == "True" and not item.dry_run
        found.append(PolicyUse(item.name, in_force, condition.reason))
    return tuple(found)


def result(
    claim: Claim, services: Collection[LLMService], claims: Collection[Claim]
) -> PolicyResult:
    """Conditions of a policy."""
    by_name = {
        service.metadata.name: service
        for service in services
        if service.metadata.namespace == claim.namespace
    }
    return PolicyResult(
        claim,
        tuple(_ancestor(claim, name, by_name.get(name), claims) for name in claim.targets),
    )


def _ancestor(
    claim: Claim, target: str, service: LLMService | None, claims: Collection[Claim]
) -> Ancestor:
    if claim.invalid is not None:
        return Ancestor(target, refused("Invalid", claim.invalid))
    if service is None:
        message = f"no valid LLMService of this name in namespace {claim.namespace}"
        return Ancestor(target, refused("TargetNotFound", message))
    state = "on trial" if claim.dry_run else "in force"
    best = trial(service, claims) if claim.dry_run else winner(service, claims)
    if best is not None and best is not claim:
        message = f"SLOPolicy {best.name} is older and {state}"
        return Ancestor(target, refused("Conflicted", message), best)
    if claim.dry_run:
        message = f"on trial for LLMService {target}: measured, never acted on"
        return Ancestor(target, Condition("Accepted", "True", "DryRun", message))
    return Ancestor(target, accepted(f"in force for LLMService {target}"))


def _oldest(service: LLMService, claims: Iterable[Claim], *, dry_run: bool) -> Claim | None:
    rivals = [item for item in claims if item.dry_run == dry_run and _names(item, service)]
    return min(rivals, key=lambda item: item.precedence, default=None)


def _names(claim: Claim, service: LLMService) -> bool:
    return claim.names(service.metadata.namespace, service.metadata.name)
