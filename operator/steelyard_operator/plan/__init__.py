"""From objects to children, as a pure function."""

from .attachment import Ancestor, PolicyResult
from .condition import Condition
from .engine import EngineProcess
from .planner import Key, Plan, ServicePlan, plan

__all__ = [
    "Ancestor",
    "Condition",
    "EngineProcess",
    "Key",
    "Plan",
    "PolicyResult",
    "ServicePlan",
    "plan",
]
