"""The policy part of a router's configuration: what is in force, and what is on trial beside it.

A policy that cannot be compiled leaves its part as it is in the running configuration, reference
and all, so that a mistake in an edit changes nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.errors import InvalidPolicyError
from steelyard_router import config

from .attachment import trial, winner
from .claim import Claim
from .condition import POLICY_AFFECTED, Condition
from .policy import default_policy


@dataclass(frozen=True, slots=True)
class PolicyPart:
    """`given` are the sections of RouterConfig that come from policies."""

    given: Mapping[str, Any]
    condition: Condition


def policy_part(
    service: LLMService, claims: Collection[Claim], running: config.RouterConfig | None
) -> PolicyPart:
    """`running` is what the service's routers were told last, where that is known."""
    best = winner(service, claims)
    given = {"policy": default_policy(service.spec.router.defaults)}
    if best is None:
        condition = _unaffected()
    elif not isinstance(best.outcome, InvalidPolicyError):
        given, condition = _given("policy", best, best.outcome), _affected(best)
    else:
        condition = _stale(best, kept=running is not None)
        if running is not None:
            given = _kept("policy", running)
    return PolicyPart(given | _shadow(trial(service, claims), running), condition)


def _shadow(claim: Claim | None, running: config.RouterConfig | None) -> dict[str, Any]:
    if claim is None:
        return {}
    if not isinstance(claim.outcome, InvalidPolicyError):
        return _given("shadow", claim, claim.outcome)
    same = running and running.shadow_ref and running.shadow_ref.uid == claim.uid
    return _kept("shadow", running) if running is not None and same else {}


def _given(section: str, claim: Claim, compiled: config.Policy) -> dict[str, Any]:
    if claim.uid is None:  # no API server knows it: there is nothing to report on
        return {section: compiled}
    reference = config.ObjectRef(name=claim.name, uid=claim.uid)
    return {section: compiled, f"{section}_ref": reference}


def _kept(section: str, running: config.RouterConfig) -> dict[str, Any]:
    names = (section, f"{section}_ref")
    return {name: getattr(running, name) for name in names if name in running.model_fields_set}


def _affected(claim: Claim) -> Condition:
    return Condition(
        POLICY_AFFECTED, "True", "PolicyInForce", f"SLOPolicy {claim.name} is in force"
    )


def _unaffected() -> Condition:
    return Condition(
        POLICY_AFFECTED,
        "False",
        "NoPolicy",
        "no SLOPolicy is in force for this service: router defaults",
    )


def _stale(claim: Claim, *, kept: bool) -> Condition:
    state = "the last good configuration stays" if kept else "router defaults"
    return Condition(
        POLICY_AFFECTED,
        "False",
        "PolicyInvalid",
        f"SLOPolicy {claim.name} is invalid: {state}",
    )
