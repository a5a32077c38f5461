"""Joins and leaves: keeps roster, scheduler and connection pools in step with the endpoints, those
of the configuration and those that were found.

Keeps true: an endpoint that is taken away gets nothing new at once, finishes what it runs, and only
then leaves the ledger and the index; until then it is listed as draining. A changed URL is another
server. An engine that began anew holds no prefix.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from steelyard_router.config import Endpoint
from steelyard_router.discovery.found import Found
from steelyard_router.proxy.pool import Pool
from steelyard_router.proxy.roster import Member, Roster
from steelyard_router.scheduling.scheduler import Scheduler

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Membership:
    """The endpoints in service, and those on their way out."""

    roster: Roster
    scheduler: Scheduler
    pools: dict[str, Pool]
    max_idle: int
    leaving: dict[str, Member]
    _configured: tuple[Endpoint, ...] = ()
    _found: dict[str, Found] = field(default_factory=dict)

    def configure(self, endpoints: Iterable[Endpoint], now: float) -> None:
        """Makes the configured endpoints these. Raises ConfigError before anything is touched."""
        endpoints = tuple(endpoints)
        self._apply(endpoints, self._found, now)
        self._configured = endpoints

    def find(self, found: Iterable[Found], now: float) -> None:
        """Makes the found endpoints these."""
        before, engines = self._found, {engine.endpoint.id: engine for engine in found}
        self._apply(self._configured, engines, now)
        self._found = engines
        for instance, engine in engines.items():
            if (old := before.get(instance)) is not None:
                self._compare(old, engine)

    def _compare(self, old: Found, new: Found) -> None:
        """Clears the cache of one that has, or may have, begun anew in place.

        The counters of an engine that lets itself be polled tell it more surely than readiness,
        which also comes and goes with a node's connection (app).
        """
        instance = new.endpoint.id
        member = self.roster.get(instance)
        if member is None or member.endpoint != new.endpoint:
            return
        if new.is_another_than(old):
            log.info("%s is another pod now: its prefix index is cleared", instance)
            self.scheduler.reset_cache(instance)
        elif new.came_back_since(old) and not member.polled:
            self.scheduler.reset_cache(instance)

    def _apply(self, configured: tuple[Endpoint, ...], found: dict[str, Found], now: float) -> None:
        endpoints = tuple(_joined(configured, found))
        own = {endpoint.id for endpoint in configured}
        waiting = {id_ for id_, engine in found.items() if not engine.ready and id_ not in own}
        changes = self.roster.apply(endpoints, now, waiting=waiting)
        returning = {member.id for member in changes.joined}
        for member in changes.left:
            self._retire(member, at_once=member.id in returning)
        for member in changes.joined:
            if member.id in self.leaving:
                self._forget(member.id)
            self.pools[member.id] = Pool(member.host, member.port, max_idle=self.max_idle)
            self.scheduler.join(member.id, cache_tokens=member.endpoint.cache_tokens)
        for member in changes.changed:
            if member.endpoint.cache_tokens is not None:
                self.scheduler.join(member.id, cache_tokens=member.endpoint.cache_tokens)
        self.roster.refresh(now)

    def tick(self, now: float) -> None:
        """Lets those go that have finished."""
        if not self.leaving:
            return
        busy = {load.instance for load in self.scheduler.snapshot(now) if load.leases > 0}
        for instance in [instance for instance in self.leaving if instance not in busy]:
            self._forget(instance)

    def close(self) -> None:
        for pool in self.pools.values():
            pool.close()

    def _retire(self, member: Member, *, at_once: bool) -> None:
        self.leaving[member.id] = member
        self.scheduler.limit(member.id, 0.0)
        if at_once:
            self._forget(member.id)

    def _forget(self, instance: str) -> None:
        del self.leaving[instance]
        self.scheduler.leave(instance)
        self.pools.pop(instance).close()


def _joined(configured: tuple[Endpoint, ...], found: dict[str, Found]) -> Iterator[Endpoint]:
    """All of them; a configured one goes before a found one of the same name."""
    yield from configured
    own = {endpoint.id for endpoint in configured}
    yield from (engine.endpoint for id_, engine in found.items() if id_ not in own)
