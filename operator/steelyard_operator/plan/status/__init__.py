"""From what was seen of objects to their statuses, as pure functions."""

from steelyard_operator.plan.child.name import ENGINE, ROUTER

from .intent import EventIntent, StatusPlan
from .observed import ApplyError, Observed, Refusal, RouterReport
from .policy import policy_status
from .programmed import Target
from .service import invalid_service_status, service_status
from .trouble import unexplained

__all__ = [
    "ENGINE",
    "ROUTER",
    "ApplyError",
    "EventIntent",
    "Observed",
    "Refusal",
    "RouterReport",
    "StatusPlan",
    "Target",
    "invalid_service_status",
    "policy_status",
    "service_status",
    "unexplained",
]
