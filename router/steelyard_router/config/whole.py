"""All sections together."""

import hashlib
import json

from steelyard_router.config.base import Section
from steelyard_router.config.kubernetes import Kubernetes, ObjectRef
from steelyard_router.config.policy import Policy
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
from steelyard_router.config.service import Service


class RouterConfig(Section):
    """The whole file. Every section has defaults, so a file needs only endpoints."""

    service: Service = Service()
    policy: Policy = Policy()
    listen: Listen = Listen()
    timeouts: Timeouts = Timeouts()
    retry: Retry = Retry()
    health: Health = Health()
    breaker: Breaker = Breaker()
    limits: Limits = Limits()
    drain: Drain = Drain()
    debug: Debug = Debug()
    kubernetes: Kubernetes | None = None
    policy_ref: ObjectRef | None = None
    """Where `policy` comes from; absent: nobody's, the defaults."""
    shadow: Policy | None = None
    """A policy on trial: measured beside `policy`, never acted on (shadow/)."""
    shadow_ref: ObjectRef | None = None

    @property
    def revision(self) -> str:
        """First 12 hex digits of the sha256 of what is said: no default takes part, so a new
        default in one version of the router makes no other revision.
        """
        said = self.model_dump(mode="json", exclude_unset=True)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]
