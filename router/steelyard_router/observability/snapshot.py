"""The state of the router at one moment: the source of all gauges and of /status.

Values only, so that a metric and a status line that name the same thing can never disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.config import ObjectRef
from steelyard_router.observability.observer import Observer
from steelyard_router.scheduling.predictor import Coefficients


@dataclass(frozen=True, slots=True)
class IndexView:
    """The prefix index (scheduling/index). `holders` counts (block, instance) pairs."""

    blocks: int = 0
    holders: int = 0
    bytes: int = 0
    budget_evictions: int = 0


@dataclass(frozen=True, slots=True)
class InstanceView:
    """One endpoint: its health and its load.

    `breaker` is a value of proxy/breaker's states. `limit` is the most sequences it may hold now: 0
    when it is closed (open breaker, draining), infinity when it is free.
    """

    id: str
    url: str
    state: str = "ready"
    healthy: bool = True
    breaker: str = "closed"
    limit: float = float("inf")
    queued_tokens: float = 0.0
    requests: float = 0.0
    context_tokens: float = 0.0
    index_blocks: int = 0
    leases: int = 0
    models: tuple[str, ...] = ()
    coefficients: Coefficients | None = None
    """What its steps cost, as far as is known;"""
    trusted: bool = False
    """whether that is well enough known to go by."""
    pace: float = 1.0
    """How many times as long as before its work takes."""
    width: float = inf
    """Sequences that its engine was seen to run at once; inf while it has let none wait."""

    @property
    def usable(self) -> bool:
        return self.healthy and self.limit > 0


@dataclass(frozen=True, slots=True)
class RouterSnapshot:
    """Everything about the router that is a state rather than a count.

    `revision` is None until a configuration is loaded; `config_error` tells why the file on disk is
    not the one that runs. `alerts` are the states of alerts/book, their `since` on the router's
    clock. `holder`: whether this replica is the one that judges them; `service` holds the figures
    of all replicas that it then has. Events are counted by reason.
    """

    revision: str | None
    draining: bool = False
    leases_held: int = 0
    running: int = 0
    waiting: int = 0
    """For admission or in line,"""
    in_line: int = 0
    """of those for an instance with room;"""
    yielding: int = 0
    """and of those, how many because others would miss their targets."""
    would_wait: Mapping[str, int] = field(default_factory=dict)
    """By workload, requests that a scheduler on trial would have let wait."""
    index: IndexView = IndexView()
    instances: tuple[InstanceView, ...] = ()
    alerts: tuple[Mapping[str, object], ...] = ()
    events_posted: Mapping[str, int] = field(default_factory=dict)
    events_dropped: Mapping[str, int] = field(default_factory=dict)
    config_error: str | None = None
    holder: bool = True
    service: ServiceFigures | None = None
    replica: str | None = None
    policy_ref: ObjectRef | None = None
    no_endpoint: str = "the configuration names no endpoint"
    """Why there is none, if there is none."""
    engines_are_found: bool = False
    """By discovery: then all replicas know the same ones, and no other would serve better."""
    unheard: str | None = None
    """Why nothing was found out yet; None once something was, however old."""

    @property
    def unready(self) -> str | None:
        """Why no client should be sent here now; None when one may.

        A router that finds its engines itself is ready once it has heard of them, even of none: its
        clients get a 503 that says why and when to come again, instead of a refused connection.
        """
        own = self._unready_itself
        if own is not None or self.engines_are_found:
            return own or self.unheard
        return self.unserved

    @property
    def unserved(self) -> str | None:
        """Why no request can be served now; None when one can."""
        if self._unready_itself is not None:
            return self._unready_itself
        if not self.instances:
            return self.no_endpoint
        if not any(instance.usable for instance in self.instances):
            return f"none of the {len(self.instances)} endpoints is usable; /status says why"
        return None

    @property
    def _unready_itself(self) -> str | None:
        if self.revision is None:
            return self.config_error or "no configuration is loaded yet"
        if self.draining:
            return "the router is draining: it finishes what runs and takes nothing new"
        return None

    @property
    def ready(self) -> bool:
        return self.unready is None


class Source(Protocol):
    """What /metrics, /status and the probes read. The app is one."""

    @property
    def observer(self) -> Observer: ...

    def snapshot(self, now: float) -> RouterSnapshot: ...
