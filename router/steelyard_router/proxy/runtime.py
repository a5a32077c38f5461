"""What every request shares: the configuration in force and the state that outlives it.

A reload replaces `active` in one assignment; a request that has begun keeps the one it began with.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time as unix_time

from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.shadow import Shadow
from steelyard_router.config import RouterConfig
from steelyard_router.observability.observer import Observer
from steelyard_router.proxy.admission import Admission
from steelyard_router.proxy.attempt import Attempt
from steelyard_router.proxy.auth import KeyRing
from steelyard_router.proxy.catalog import Catalog
from steelyard_router.proxy.line import Line, Rules
from steelyard_router.proxy.pool import Pool
from steelyard_router.proxy.retry import RetryBudget
from steelyard_router.proxy.roster import Roster
from steelyard_router.scheduling.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Active:
    """One configuration, compiled."""

    config: RouterConfig
    analyzer: Analyzer
    rules: Rules
    shadow: Shadow | None = None
    """The policy on trial, if there is one."""


@dataclass(slots=True)
class Runtime:
    """Shared by all exchanges of one router."""

    active: Active
    scheduler: Scheduler
    roster: Roster
    catalog: Catalog
    admission: Admission
    line: Line
    budget: RetryBudget
    observer: Observer
    time: Callable[[], float]
    wall: Callable[[], float] = unix_time
    """Seconds since 1970, for what other processes are told."""
    keys: KeyRing | None = None
    pools: dict[str, Pool] = field(default_factory=dict)
    attempts: dict[Attempt, float] = field(default_factory=dict)
    """Those with an upstream request in flight, and when their request came in; the sweep looks for
    ones that have waited too long.
    """
