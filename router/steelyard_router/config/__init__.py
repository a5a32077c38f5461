"""The router's configuration: what is served (`service`), how (`policy`), and the process's own
limits.

The operator compiles an LLMService and its SLOPolicy into this shape; a person may write it by
hand. It is immutable: a reload makes a new object and swaps it in whole. `revision` is a hash of
what it says, so two replicas that report one revision were told the same, whatever their versions.
No field has a meaning only here: each is read by exactly the module that its docstring names.
"""

from steelyard_router.config.base import (
    Name,
    PositiveFloat,
    PositiveInt,
    Section,
)
from steelyard_router.config.kubernetes import Kubernetes, ObjectRef
from steelyard_router.config.policy import (
    Alert,
    Match,
    Policy,
    Routing,
    Targets,
    WeightPercents,
    Workload,
)
from steelyard_router.config.process import (
    Breaker,
    Debug,
    Drain,
    Health,
    Limits,
    Listen,
    Retry,
    Timeouts,
)
from steelyard_router.config.service import (
    ClientHints,
    Endpoint,
    EngineType,
    Service,
)
from steelyard_router.config.waiting import (
    Annealing,
    Batch,
    EnginePriority,
    OwnQueue,
    Queue,
    SchedulerMode,
    SchedulerSettings,
)
from steelyard_router.config.whole import RouterConfig
from steelyard_router.scheduling.waiting import OnTimeout

__all__ = [
    "Alert",
    "Annealing",
    "Batch",
    "Breaker",
    "ClientHints",
    "Debug",
    "Drain",
    "Endpoint",
    "EnginePriority",
    "EngineType",
    "Health",
    "Kubernetes",
    "Limits",
    "Listen",
    "Match",
    "Name",
    "ObjectRef",
    "OnTimeout",
    "OwnQueue",
    "Policy",
    "PositiveFloat",
    "PositiveInt",
    "Queue",
    "Retry",
    "RouterConfig",
    "Routing",
    "SchedulerMode",
    "SchedulerSettings",
    "Section",
    "Service",
    "Targets",
    "Timeouts",
    "WeightPercents",
    "Workload",
]
