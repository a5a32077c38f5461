"""What a policy claims: which services, since when, in which mode, and what it compiles to.

A policy that cannot even be read (an object of a newer version, say) still has a claim: its place
in the order decides about its services as that of any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.errors import InvalidPolicyError
from steelyard_router import config

from .policy import compile_policy

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Claim:
    """`outcome` is the compiled policy, or why there is none."""

    namespace: str
    name: str
    uid: str | None
    generation: int
    created: datetime | None
    dry_run: bool
    targets: tuple[str, ...]
    outcome: config.Policy | InvalidPolicyError

    @property
    def precedence(self) -> tuple[datetime, str]:
        """Sorts the policy that wins first."""
        return self.created or _NEVER, self.name

    @property
    def invalid(self) -> str | None:
        return str(self.outcome) if isinstance(self.outcome, InvalidPolicyError) else None

    def names(self, namespace: str, service: str) -> bool:
        return self.namespace == namespace and service in self.targets


def claim(policy: SLOPolicy) -> Claim:
    outcome: config.Policy | InvalidPolicyError
    try:
        outcome = compile_policy(policy)
    except InvalidPolicyError as error:
        outcome = error
    metadata = policy.metadata
    return Claim(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        generation=metadata.generation or 0,
        created=metadata.creation_timestamp,
        dry_run=policy.spec.mode == "DryRun",
        targets=tuple(ref.name for ref in policy.spec.target_refs),
        outcome=outcome,
    )


def unreadable_claim(live: Mapping[str, Any], problem: str) -> Claim:
    """Of an SLOPolicy of the API server that no model takes. `problem` says why."""
    metadata, spec = live["metadata"], live.get("spec") or {}
    return Claim(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata.get("uid"),
        generation=metadata.get("generation", 0),
        created=_moment(metadata.get("creationTimestamp")),
        dry_run=spec.get("mode") == "DryRun",
        targets=tuple(ref["name"] for ref in spec.get("targetRefs") or () if "name" in ref),
        outcome=InvalidPolicyError(problem),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
