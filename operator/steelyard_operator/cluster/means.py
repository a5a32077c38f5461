"""What both reconciles work with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from steelyard_operator.plan.child import Settings
from steelyard_router.kube.client import Kube

from .apply import Applier
from .key import ObjectKey
from .metric import Metrics
from .publish import Publisher
from .report import Ask


@dataclass(frozen=True, slots=True)
class Means:
    """`follow(namespace, service)` is told that a service's routers were given something new,
    `gone(key)` that there is no such object (any more).
    """

    kube: Kube
    applier: Applier
    publisher: Publisher
    ask: Ask
    settings: Settings
    metrics: Metrics
    now: Callable[[], datetime]
    follow: Callable[[str, str], None]
    gone: Callable[[ObjectKey], None]
