"""From objects to children, as a pure function."""

from .attachment import Ancestor, PolicyResult, PolicyUse
from .claim import Claim, unreadable_claim
from .condition import Condition
from .engine import EngineProcess
from .planner import Key, Plan, ServicePlan, plan

__all__ = [
    "Ancestor",
    "Claim",
    "Condition",
    "EngineProcess",
    "Key",
    "Plan",
    "PolicyResult",
    "PolicyUse",
    "ServicePlan",
    "plan",
    "unreadable_claim",
]
