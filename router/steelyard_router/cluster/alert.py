"""The alerts of a router with several replicas: one of them judges for all, and tells in Events.

The holder of the router's Lease adds up what all replicas measured, evaluates the rules, and keeps
the sum for whoever asks how the service does. When it takes over, it reads the service's Events and
goes on with what fires, so neither a restart nor a change of hands repeats anything. The others
keep an empty book. A holder that cannot renew its Lease, because the API server is away, goes on
judging but posts nothing until it holds it again; if by then another has taken over, it forgets
what it had to say.
"""

import asyncio
import logging
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable

from steelyard_router.alerts.book import AlertBook, Firing
from steelyard_router.alerts.exchange import Measured
from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.alerts.watch import TICK_S, tell
from steelyard_router.alerts.window import STATUS_WINDOW_S
from steelyard_router.cluster.incident import Incident, Memory
from steelyard_router.cluster.peer import Ask, Peers, ask_over_http
from steelyard_router.cluster.replica import Replica, replicas
from steelyard_router.cluster.reporter import Reporter
from steelyard_router.cluster.station import Station
from steelyard_router.config import ObjectRef, RouterConfig
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import Posting, Subject
from steelyard_router.kube.informer import Informer
from steelyard_router.kube.lease import Standing
from steelyard_router.kube.resource import ENDPOINT_SLICE, EVENT, SLO_POLICY

RETRY_S = 5.0
"""Between two tries to take over."""

log = logging.getLogger(__name__)


class ClusterAlerts:
    """One replica's part. `identity` and `address` are its pod's name and IP; `measured` gives its
    own measurements and `ask` another's.

    The replicas' list comes from `run`; without it (in tests), from `follow`.
    """

    def __init__(
        self,
        kube: Kube,
        config: RouterConfig,
        measured: Callable[[float], Measured],
        *,
        identity: str,
        address: str | None,
        clock: Callable[[], float],
        wall: Callable[[], float],
        rng: random.Random,
        ask: Ask = ask_over_http,
    ) -> None:
        if config.kubernetes is None:
            raise ValueError("a configuration for a cluster has the section kubernetes")
        self.posted: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self._station = station = Station(kube, config.kubernetes, identity, clock, wall, rng)
        self._config = config
        self._measured = measured
        self._book = self._fresh()
        self._term: int | None = None
        """The Lease's term that the book belongs to."""
        self._figures: ServiceFigures | None = None
        """Of the newest sum; None from a change of hands or of configuration to the next sum."""
        self._retry_at = -math.inf
        self._replicas: tuple[Replica, ...] | None = None
        self.election = station.election()
        self.reporter = Reporter(
            station.writer(self._count),
            station.service,
            may_post=lambda: self.holder,
            dropped=lambda reason: self._count(reason, Posting.DROPPED),
            clock=clock,
            wall=wall,
            rng=rng,
        )
        self._peers = Peers(
            lambda: self._replicas or (),
            name=identity,
            host=address,
            port=config.listen.admin_port,
            clock=clock,
            ask=ask,
        )

    @property
    def holder(self) -> bool:
        """Whether this replica judges, and nobody else does."""
        return self.election.holder and self._term == self.election.term

    def states(self) -> list[dict[str, object]]:
        """As AlertBook.states; of use only from the holder."""
        return self._book.states()

    @property
    def figures(self) -> ServiceFigures | None:
        return self._figures if self.holder else None

    def replace(self, config: RouterConfig, now: float) -> None:
        """Follow a configuration that has been swapped in. Another policy object's alerts are
        others, even where they say the same.
        """
        before, self._config = self._config, config
        self._figures = None
        ended = []
        if _uid(before.policy_ref) != _uid(config.policy_ref):
            ended += self._book.replace(config.policy.model_copy(update={"alerts": ()}), now)
        ended += self._book.replace(config.policy, now)
        tell(ended)
        for transition in ended:
            self.reporter.take(transition, self._policy)

    def follow(self, found: Iterable[Replica]) -> None:
        """Take the newest list of this router's replicas."""
        self._replicas = tuple(found)

    async def run(self) -> None:
        """Never ends by itself. Cancelled, it gives the Lease back."""
        station = self._station
        informer = Informer(
            station.kube,
            ENDPOINT_SLICE,
            station.place.namespace,
            lambda slices: self.follow(replicas(slices.values())),
            rng=station.rng,
            labels=f"kubernetes.io/service-name={station.place.router_service}",
        )
        async with asyncio.TaskGroup() as duties:
            for duty in (informer, self.election, self.reporter):
                duties.create_task(duty.run())
            while True:
                await asyncio.sleep(TICK_S)
                await self.step()

    async def step(self) -> None:
        """Evaluate once, if it is this replica's turn."""
        if self.election.standing is Standing.OTHER:
            self._stand_down()
            return
        if self._term != self.election.term and not await self._take_over():
            return
        if self._replicas is None:
            return
        source = await self._peers.merged(self._measured, keep_s=self._longest_s())
        if self._term != self.election.term:
            return  # lost in the meantime
        self._figures = ServiceFigures(
            source, source.replicas(STATUS_WINDOW_S), self._config.policy.workloads
        )
        now = self._station.clock()
        transitions = self._book.evaluate(now, source)
        tell(transitions)
        for transition in transitions:
            self.reporter.take(transition, self._policy)

    async def _take_over(self) -> bool:
        """Go on where the holder before left off; False when that cannot be known yet."""
        term, service = self.election.term, self._station.service
        if not self.election.holder or self._station.clock() < self._retry_at:
            return False
        try:
            events = await self._station.kube.list(
                EVENT, service.namespace, fields=f"involvedObject.uid={service.uid}"
            )
        except KubeError as error:
            if self._retry_at == -math.inf:
                log.warning("alerts wait until Events can be read: %s", error)
            self._retry_at = self._station.clock() + RETRY_S
            return False
        self._retry_at = -math.inf
        if not self.election.holder or self.election.term != term:
            return False
        self._resume(Memory.of(events.items, service), self._station.clock())
        self._term = term
        return True

    def _resume(self, memory: Memory, now: float) -> None:
        self._book, self._figures = self._fresh(), None
        self._peers.forget()
        self.reporter.start_over(memory)
        for incident in memory.firing:
            same = _uid(incident.policy) == _uid(self._config.policy_ref)
            if same and self._book.resume(self._firing(incident, now), now):
                self.reporter.adopt(incident)
            else:
                self.reporter.close(incident)

    def _firing(self, incident: Incident, now: float) -> Firing:
        wall = self._station.wall()
        return Firing(
            alert=incident.alert,
            workload=incident.workload,
            rule=incident.rule,
            since=min(now, now - (wall - incident.since_ms / 1000)),
            notified_at=min(now, now - (wall - incident.notified_ms / 1000)),
            threshold=incident.threshold,
        )

    def _stand_down(self) -> None:
        if self._term is not None:
            self._term = None
            self._book, self._figures = self._fresh(), None
            self._peers.forget()
            self.reporter.forget()

    def _fresh(self) -> AlertBook:
        return AlertBook(self._config.policy, self._config.service.name)

    @property
    def _policy(self) -> Subject | None:
        ref = self._config.policy_ref
        return None if ref is None else self._station.subject(SLO_POLICY, ref)

    def _longest_s(self) -> float:
        return float(
            max([STATUS_WINDOW_S, *(alert.window_s for alert in self._config.policy.alerts)])
        )

    def _count(self, reason: str, posting: Posting) -> None:
        if posting is Posting.POSTED:
            self.posted[reason] += 1
        elif posting is Posting.DROPPED:
            self.dropped[reason] += 1


def _uid(ref: ObjectRef | Subject | None) -> str | None:
    return None if ref is None else ref.uid
