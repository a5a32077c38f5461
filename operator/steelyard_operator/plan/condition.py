"""Conditions as values: what the plan found out about an object, in the shape of Kubernetes."""

from dataclasses import dataclass
from typing import Literal

POLICY_AFFECTED = "steelyard.io/SLOPolicyAffected"


@dataclass(frozen=True, slots=True)
class Condition:
    """One statement about one object. `message` is for people, `reason` for programs."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


def accepted(message: str) -> Condition:
    return Condition("Accepted", "True", "Accepted", message)


def refused(reason: str, message: str) -> Condition:
    return Condition("Accepted", "False", reason, message)
