"""The instances there are, and how much each may be given now.

A member leaves nothing new to anybody from the moment it is gone from the endpoints, is draining,
fails its probes, or has its breaker open; what runs on it runs on. All of that is one number per
member, its limit, and the scheduler learns of every change of it through `on_limit`, so the two
never disagree.

A member that was not probed yet counts as usable: a router that starts next to running engines must
not answer 503 until the first round of probes is over, and a dead one costs a retry, not an error.

A member that waits (its finder does not call it ready) gets nothing, unless every member does: then
those that our own probes have reached are the last resort, since a cluster that has lost sight of
all engines at once has more likely lost its sight than its engines.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from steelyard_router import config
from steelyard_router.errors import ConfigError
from steelyard_router.proxy.breaker import Breaker, BreakerState

ModelCard = Mapping[str, object]
"""One entry of an engine's GET /v1/models; `id` is a string."""


@dataclass(slots=True, eq=False)
class Member:
    """One instance and what is known about it."""

    endpoint: config.Endpoint
    host: str
    port: int
    authority: bytes
    """The Host header's value."""
    breaker: Breaker
    last_byte_at: float
    """When a byte last came from it, on any connection, or a counter of it moved: tells an instance
    that hangs from one that is only slow with a request.
    """
    models: frozenset[str] | None
    """Names it serves; None: not known, so it may serve any."""
    cards: tuple[ModelCard, ...] = ()
    healthy: bool | None = None
    """What the probes say; None: none has ended yet."""
    draining: bool = False
    waiting: bool = False
    """It was found, but is not ready by its finder's account."""
    polled: bool = False
    """Its engine's counters can be read, so that a restart shows in them."""
    limit: float = math.inf
    """Requests it may hold at once, as last told to the scheduler."""
    last_probe: bool | None = None
    probe_streak: int = 0
    """Probes in a row that said what `last_probe` says."""

    @property
    def id(self) -> str:
        return self.endpoint.id


@dataclass(frozen=True, slots=True)
class Changes:
    """What a new list of endpoints changed. A changed URL is another server: its id left and
    joined.
    """

    joined: tuple[Member, ...] = ()
    left: tuple[Member, ...] = ()
    changed: tuple[Member, ...] = ()
    """Same server, another cache size, engine type or list of models."""


class Roster:
    """The members by id."""

    def __init__(
        self,
        breaker: config.Breaker,
        health: config.Health,
        *,
        on_limit: Callable[[str, float], None],
    ) -> None:
        self._breaker = breaker
        self._health = health
        self._on_limit = on_limit
        self._members: dict[str, Member] = {}
        self._all_wait = False
        self.version = 0
        """Moves with every change of membership, health or models: what is derived may be cached by
        it.
        """

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(tuple(self._members.values()))

    def __getitem__(self, instance: str) -> Member:
        return self._members[instance]

    def get(self, instance: str) -> Member | None:
        return self._members.get(instance)

    def reaches(self, among: frozenset[str] | None, exclude: Collection[str]) -> bool:
        """Whether any of those but `exclude` may take a request, now or once it has room."""
        return any(
            member.limit > 0
            for member in self._members.values()
            if member.id not in exclude and (among is None or member.id in among)
        )

    def apply(
        self, endpoints: Iterable[config.Endpoint], now: float, *, waiting: Collection[str] = ()
    ) -> Changes:
        """Take over a list of endpoints, of which some are `waiting`. ConfigError, with nothing
        changed, if a URL cannot be used.

        The scheduler has to hear of it from the caller: first of those that left, then of those
        that joined or changed, then `refresh`.
        """
        members: dict[str, Member] = {}
        joined, changed = [], []
        for endpoint in endpoints:
            old = self._members.get(endpoint.id)
            if old is None or old.endpoint.url != endpoint.url:
                members[endpoint.id] = member = self._member(endpoint, now)
                joined.append(member)
            else:
                members[endpoint.id] = old
                if old.endpoint != endpoint:
                    changed.append((old, endpoint))
        left = tuple(m for m in self._members.values() if members.get(m.id) is not m)
        for member in left:
            member.draining = True
        for member, endpoint in changed:
            _edit(member, endpoint)
        for member in members.values():
            member.waiting = member.id in waiting
        self._members = members
        self._all_wait = all(member.waiting for member in members.values())
        self.version += bool(joined or left or changed)
        return Changes(tuple(joined), left, tuple(member for member, _ in changed))

    def update(self, breaker: config.Breaker, health: config.Health, now: float) -> None:
        """Put new settings in force; the states stay."""
        self._breaker, self._health = breaker, health
        for member in self._members.values():
            member.breaker.settings = breaker
        self.refresh(now)

    def effective_limit(self, member: Member, now: float) -> float:
        """Requests the member may hold at once: 0 is none, inf is any number."""
        if member.draining or member.healthy is False:
            return 0.0
        if member.waiting and not (self._all_wait and member.healthy):
            return 0.0
        return member.breaker.limit(now)

    def refresh(self, now: float) -> bool:
        """Bring all limits up to date. True while one of them moves with time (ask again in 0.25
        s).
        """
        moving = False
        for member in self._members.values():
            self._settle(member, now)
            moving = moving or member.breaker.state(now) is not BreakerState.CLOSED
        return moving

    def usable(self, now: float) -> int:
        return sum(self.effective_limit(member, now) > 0 for member in self._members.values())

    def succeeded(self, member: Member, *, begun: float, now: float) -> None:
        """A request that was dispatched at `begun` got its answer (a 4xx is one)."""
        member.breaker.succeeded(now, begun=begun)
        if member.limit != math.inf:  # an answer can only raise a limit
            self._settle(member, now)

    def failed(self, member: Member, *, begun: float, now: float) -> None:
        """A request that was dispatched at `begun` failed, by the instance's doing."""
        member.breaker.failed(now, begun=begun)
        self._settle(member, now)

    def probed(self, member: Member, *, ok: bool, now: float) -> None:
        """A probe ended. `failures` bad ones in a row, or `successes` good ones, turn the
        verdict.
        """
        member.probe_streak = member.probe_streak + 1 if member.last_probe is ok else 1
        member.last_probe = ok
        needed = self._health.successes if ok else self._health.failures
        if member.healthy is ok or member.probe_streak < needed:
            return
        member.healthy = ok
        self.version += 1
        self._settle(member, now)

    def learned(self, member: Member, cards: tuple[ModelCard, ...]) -> None:
        """The member listed its models; the endpoint's own list, if there is one, goes before."""
        if member.cards == cards and member.models is not None:
            return
        member.cards = cards
        if member.endpoint.models is None:
            member.models = frozenset(str(card["id"]) for card in cards)
        self.version += 1

    def drain(self, instance: str, now: float) -> None:
        """Give it nothing new, while it still is an endpoint."""
        if (member := self._members.get(instance)) is not None:
            member.draining = True
            self._settle(member, now)

    def _settle(self, member: Member, now: float) -> None:
        limit = self.effective_limit(member, now)
        # A member that is no longer on the list may still have requests that end; the scheduler has
        # forgotten it, or knows another server by its id.
        if limit != member.limit and self._members.get(member.id) is member:
            member.limit = limit
            self._on_limit(member.id, limit)

    def _member(self, endpoint: config.Endpoint, now: float) -> Member:
        host, port, authority = _address(endpoint)
        return Member(
            endpoint=endpoint,
            host=host,
            port=port,
            authority=authority,
            breaker=Breaker(self._breaker),
            last_byte_at=now,
            models=_given_models(endpoint),
        )


def _address(endpoint: config.Endpoint) -> tuple[str, int, bytes]:
    """Host, port and Host header of an endpoint's URL."""
    try:
        url = urlsplit(endpoint.url)
        host, port = url.hostname, url.port or 80
        authority = url.netloc.rpartition("@")[2].encode("ascii")
    except ValueError as error:
        raise ConfigError(
            f"endpoint {endpoint.id}: cannot use url {endpoint.url!r}: {error}"
        ) from error
    if not host:
        raise ConfigError(f"endpoint {endpoint.id}: url {endpoint.url!r} has no host")
    return host, port, authority


def _given_models(endpoint: config.Endpoint) -> frozenset[str] | None:
    return None if endpoint.models is None else frozenset(endpoint.models)


def _edit(member: Member, endpoint: config.Endpoint) -> None:
    if member.endpoint.models != endpoint.models:
        member.models, member.cards = _given_models(endpoint), ()  # learned again by the next probe
    member.endpoint = endpoint
