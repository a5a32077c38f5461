"""All that a router does in a cluster, as one part of the app: finds engines, follows the
ConfigMap, judges alerts together with the other replicas, tells of drift, and reports. It owns the
connection to the API server.

None of it is in a request's way: while the API server cannot be reached, the router serves from
what it knows.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from steelyard_router.cluster.alert import ClusterAlerts
from steelyard_router.cluster.config_source import ConfigSource
from steelyard_router.cluster.drift import DriftTeller
from steelyard_router.cluster.engine_source import EngineSource
from steelyard_router.cluster.refusal import RefusalTeller
from steelyard_router.cluster.station import COMPONENT
from steelyard_router.config import Kubernetes, RouterConfig
from steelyard_router.discovery.found import Engines
from steelyard_router.duty import Duty
from steelyard_router.errors import ConfigError
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import EventWriter
from steelyard_router.observability.observer import Observer

FIXED = ("namespace", "engine_service", "config_map", "router_service", "lease", "service")
"""Read once, at the start."""


@dataclass(frozen=True, slots=True)
class Identity:
    """This replica: the pod's name, and the address where the others reach its admin port."""

    name: str
    address: str | None


class Host(Protocol):
    """What the duties ask of the router, and do to it."""

    @property
    def config(self) -> RouterConfig: ...

    @property
    def observer(self) -> Observer: ...

    def found(self, engines: Engines) -> None: ...

    def take_over(self, config: RouterConfig) -> None: ...

    def refuse(self, error: ConfigError) -> None: ...


class Cluster:
    """The duties and what they share. Close it when they have ended."""

    def __init__(
        self,
        kube: Kube,
        host: Host,
        settings: Kubernetes,
        identity: Identity,
        *,
        path: Path | None,
        clock: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self._kube = kube
        self._settings = settings
        self.alerts = ClusterAlerts(
            kube,
            host.config,
            host.observer.measured,
            identity=identity.name,
            address=identity.address,
            clock=clock,
            wall=time.time,
            rng=rng,
        )
        configs = ConfigSource(
            kube,
            settings,
            started=host.config,
            path=path,
            take=host.take_over,
            refuse=host.refuse,
            rng=rng,
        )
        writer = EventWriter(
            kube, component=COMPONENT, instance=identity.name, wall=time.time, clock=clock
        )
        self._refusals = RefusalTeller(writer, settings, wall=time.time)
        drifts = DriftTeller(
            writer, settings, host.observer.drift.states, clock=clock, wall=time.time
        )
        self._engines: EngineSource | None = None
        self.duties: list[Duty] = [configs.run, self._refusals.run, drifts.run]
        if settings.engine_service is not None:
            self._engines = EngineSource(kube, settings, found=host.found, rng=rng)
            self.duties.append(self._engines.run)

    @classmethod
    async def join(
        cls,
        host: Host,
        settings: Kubernetes,
        identity: Identity,
        *,
        path: Path | None,
        clock: Callable[[], float],
        rng: random.Random,
    ) -> Self:
        """Makes no request yet. ConfigError without credentials."""
        try:
            kube = await Kube.connect(user_agent=COMPONENT)
        except KubeError as error:
            raise ConfigError(
                f"the configuration has a section `kubernetes`, but there is {error.message}"
            ) from error
        return cls(kube, host, settings, identity, path=path, clock=clock, rng=rng)

    def replace(self, settings: Kubernetes | None) -> list[str]:
        """Follows a configuration that has been swapped in. Gives the settings that it cannot
        follow without a restart.
        """
        if settings is None:
            return ["kubernetes"]
        fixed = [name for name in FIXED if getattr(settings, name) != getattr(self._settings, name)]
        if self._engines is not None and not fixed:
            self._engines.replace(settings)
        return [f"kubernetes.{name}" for name in fixed]

    @property
    def unheard(self) -> str | None:
        """Why no engine is known yet, if the API server has not answered."""
        return None if self._engines is None else self._engines.unheard

    def refused(self, error: ConfigError) -> None:
        self._refusals.tell(error)

    async def close(self) -> None:
        await self._kube.close()
