"""Joins and leaves: keeps roster, scheduler and connection pools in step with the configured
endpoints.

Keeps true: an endpoint that is taken away gets nothing new at once, finishes what it runs, and only
then leaves the ledger and the index; until then it is listed as draining. A changed URL is another
server.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard_router.config import Endpoint
from steelyard_router.proxy.pool import Pool
from steelyard_router.proxy.roster import Member, Roster
from steelyard_router.scheduling.scheduler import Scheduler


@dataclass(slots=True)
class Membership:
    """The endpoints in service, and those on their way out."""

    roster: Roster
    scheduler: Scheduler
    pools: dict[str, Pool]
    max_idle: int
    leaving: dict[str, Member]

    def apply(self, endpoints: Iterable[Endpoint], now: float) -> None:
        """Makes the endpoints in service these. Raises ConfigError before anything is touched."""
        changes = self.roster.apply(endpoints, now)
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
