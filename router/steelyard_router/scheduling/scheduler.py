"""The decision: picks an instance, takes a lease on it and records its prompt there, in one step.

Nothing can come between reading the loads and counting the request, so a burst cannot pile up on an
instance that looked idle to all of it. Reports about instances that are not (or no longer) members
are ignored: a poll may well end after its instance has left.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from steelyard_router.scheduling.candidate import Candidate, Outlook, Terms, Wish
from steelyard_router.scheduling.fleet import Fleet, Member
from steelyard_router.scheduling.forecast import Forecast, forecast
from steelyard_router.scheduling.index import Match, PrefixIndex
from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.ledger import HARM_UNIT, Ledger
from steelyard_router.scheduling.objective import Rates, harm, has_targets
from steelyard_router.scheduling.outlook import outlook
from steelyard_router.scheduling.predictor import Coefficients, OnlinePredictor, Predictor
from steelyard_router.scheduling.refusal import NoCandidate, PlacementError
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import Room
from steelyard_router.scheduling.stake import stakes
from steelyard_router.scheduling.strategy import Strategy
from steelyard_router.scheduling.survey import choosable, look, open_to
from steelyard_router.scheduling.trial import Trial
from steelyard_router.scheduling.usual import UsualLatency

DEFAULT_CACHE_TOKENS: Final = 262_144
"""Assumed until an engine tells; about what an 8B model leaves on an 80 GB GPU at its lower
settings.
"""
BLOCK_TOKENS_GAIN: Final = 1 / 64


@dataclass(slots=True)
class Decision:
    """The chosen instance, its terms before the request was counted, and the claim on it."""

    instance: str
    strategy: str
    """The name of what has chosen it."""
    lease: Lease
    hit_tokens: float
    uncached_tokens: float
    """P"""
    queued_tokens: float
    """Q"""
    requests: float
    """B"""
    score: float
    """(Q + P) * (B + 1), whatever the strategy."""
    terms: tuple[Candidate, ...] | None
    trial: str | None = None
    """The instance that the policy on trial would have chosen; None if it would have waited."""
    ttft_s: float | None = None
    """Predicted, from now on (forecast.py);"""
    tpot_s: float | None = None
    """both None while what steps cost there is not known well enough."""


@dataclass(frozen=True, slots=True)
class InstanceLoad:
    """One instance as the scheduler sees it."""

    instance: str
    queued_tokens: float
    requests: float
    context_tokens: float
    index_blocks: int
    leases: int
    limit: float
    width: float
    prefill_tokens_per_s: float
    coefficients: Coefficients
    trusted: bool
    pace: float = 1.0
    """How many times as long as before its work takes (predictor/pace.py)."""


class Scheduler:
    """Fleet, load ledger and prefix index behind one door. Not for use from several threads."""

    def __init__(
        self,
        *,
        index_bytes: int,
        default_cache_tokens: int = DEFAULT_CACHE_TOKENS,
        predictor: Predictor | None = None,
    ) -> None:
        self.index = PrefixIndex(index_bytes)
        self._fleet = Fleet()
        self._predictor = predictor or OnlinePredictor()
        self._usual = UsualLatency()
        self._ledger = Ledger(self._predictor, self._usual)
        self._default_cache_tokens = default_cache_tokens
        self._block_tokens: float | None = None
        self._last_slot = -1

    @property
    def leases_held(self) -> int:
        """Leases taken and not released; 0 when nothing is in flight."""
        return self._ledger.leases_held

    @property
    def tenants(self) -> Mapping[str, int]:
        """Sequences that run, by tenant; those without one under an empty name."""
        return self._ledger.tenants

    def join(self, instance: str, *, cache_tokens: int | None = None) -> None:
        """Add an instance, or learn the cache size of one that is there."""
        member = self._fleet.find(instance)
        if member is None:
            slot = self._fleet.free_slot()
            account, shelf = self._ledger.open(instance), self.index.open(slot)
            member = Member(instance, slot, account, shelf, self._default_cache_tokens)
            self._fleet.add(member)
            self._predictor.join(instance)
        if cache_tokens is not None:
            member.cache_tokens, member.cache_known = cache_tokens, True

    def leave(self, instance: str) -> None:
        """Remove an instance and all that is known of it. Its leases may still be released."""
        if member := self._fleet.find(instance):
            self._fleet.remove(member)
            self._ledger.close(member.account)
            self.index.close(member.shelf)
            self._predictor.leave(instance)

    def reset_cache(self, instance: str) -> None:
        """The engine has started anew or emptied its cache: it holds no prefix."""
        if member := self._fleet.find(instance):
            self.index.purge(member.shelf)

    def limit(self, instance: str, sequences: float) -> None:
        """Give an instance nothing while it has that many sequences of ours: 0 closes it, inf frees
        it.
        """
        if member := self._fleet.find(instance):
            member.limit = sequences

    def observe(
        self,
        instance: str,
        *,
        running: int | None,
        waiting: int | None,
        now: float,
        kv_usage: float | None = None,
    ) -> None:
        """An engine's polled counts, and the share of its KV memory that is held; None where
        unknown (a failed poll, no such metric).
        """
        if member := self._fleet.find(instance):
            held = None if kv_usage is None else kv_usage * member.cache_tokens
            self._ledger.observe(member.account, running, waiting, now, kv_tokens=held)
            member.report(running, waiting, now)

    def with_room(
        self,
        request: RequestView,
        room: Room,
        now: float,
        *,
        among: frozenset[str] | None = None,
        exclude: Collection[str] = (),
    ) -> frozenset[str]:
        """The instances that can take it at once, whatever they hold of its prompt."""
        self._ledger.settle(now)
        members = self._fleet.eligible(among, exclude)
        return frozenset(
            member.name for member in room.among(members, request, [], self._predictor)
        )

    def emptiest(
        self,
        request: RequestView,
        room: Room,
        *,
        among: frozenset[str] | None,
        exclude: Collection[str],
        first: str | None = None,
    ) -> str | None:
        """Of those that could take it if nobody else were there, `first` if it is one of them, else
        the one that holds the least of its KV memory, then the fewest sequences; None if there is
        none.
        """
        members = room.below_own(self._fleet.eligible(among, exclude), request)
        if any(member.name == first for member in members):
            return first
        return min(members, key=_fullness).name if members else None

    def choose(
        self,
        request: RequestView,
        strategy: Strategy,
        now: float,
        *,
        among: frozenset[str] | None = None,
        exclude: Collection[str] = (),
        room: Room | None = None,
        max_p_tokens: int | None = None,
        explain: bool = False,
        trial: Trial | None = None,
    ) -> Decision:
        """Place a request. `now` in seconds of a clock that does not go back.

        Raises NoCandidate when no instance may take it, NoRoom when none of those that may has room
        for it, AbovePTokenCap when those that have would each have more than `max_p_tokens` to
        prefill, TooDear when on each of the rest others would lose more than the room allows.
        """
        self._ledger.settle(now)
        members = self._fleet.eligible(among, exclude)
        if not members:
            raise NoCandidate
        match = self.index.lookup(request.blocks)
        open_ = open_to(request, members, match.hits, self._predictor, room)
        everywhere = look(request, match.hits, members, now)
        everywhere.outlook = self._outlook(everywhere, strategy, members)
        terms = choosable(everywhere, members, open_, room=room, max_p_tokens=max_p_tokens)
        cost = strategy.cost(terms)
        row = self._pick(terms, cost)
        member = self._fleet[terms.slots[row]]
        tried = None if trial is None else self._try(everywhere, trial, members, match)
        self._last_slot = member.slot
        q, p, b = terms.q[row], terms.p[row], terms.b[row]
        told = self._forecast(request, member, p, now)
        lease = self._take(member, request, match, p, now)
        if told is not None:
            lease.expected_s = now + told.ttft_s
        return Decision(
            instance=member.name,
            strategy=strategy.name,
            lease=lease,
            hit_tokens=max(1, request.prompt_tokens) - p,
            uncached_tokens=p,
            queued_tokens=q,
            requests=b,
            score=(q + p) * (b + 1),
            terms=self._explain(terms, cost) if explain else None,
            trial=tried,
            ttft_s=None if told is None else told.ttft_s + self._ledger.overhead.seconds,
            tpot_s=None if told is None else told.tpot_s,
        )

    def would_wait(
        self,
        request: RequestView,
        strategy: Strategy,
        now: float,
        *,
        room: Room,
        among: frozenset[str] | None = None,
    ) -> bool:
        """Whether a choice with that room would find nowhere to go now."""
        self._ledger.settle(now)
        members = self._fleet.eligible(among, ())
        match = self.index.lookup(request.blocks)
        terms = look(request, match.hits, members, now)
        return self._try(terms, Trial(request, strategy, room=room), members, match) is None

    def snapshot(self, now: float) -> list[InstanceLoad]:
        """All instances, in order of joining."""
        self._ledger.settle(now)
        return [
            InstanceLoad(
                instance=member.name,
                queued_tokens=member.account.queued(now),
                requests=member.account.sequences + member.account.others,
                context_tokens=member.account.context,
                index_blocks=member.shelf.blocks,
                leases=member.account.leases,
                limit=member.limit,
                width=member.width,
                prefill_tokens_per_s=member.account.rate,
                coefficients=self._predictor.coefficients(member.name),
                trusted=self._predictor.trusted(member.name),
                pace=self._predictor.pace(member.name),
            )
            for member in self._fleet
        ]

    def paces(self) -> dict[str, float]:
        """How many times as long as before each instance takes for its work."""
        return {member.name: self._predictor.pace(member.name) for member in self._fleet}

    def _forecast(
        self, request: RequestView, member: Member, p: float, now: float
    ) -> Forecast | None:
        if not self._predictor.trusted(member.name):
            return None
        costs = self._predictor.coefficients(member.name)
        return forecast(request, member.account, costs, p, now)

    def _pick(self, terms: Terms, cost: list[float]) -> int:
        """The row of least cost; of equals that of least load, then of least P, then the next in
        turn.
        """
        least = min(cost)
        if cost.count(least) == 1:
            return cost.index(least)
        rows = [row for row, each in enumerate(cost) if each == least]
        for column in (terms.b, terms.p):
            least = min(column[row] for row in rows)
            rows = [row for row in rows if column[row] == least]
        later = (row for row in rows if terms.slots[row] > self._last_slot)
        return next(later, rows[0])

    def _outlook(
        self,
        terms: Terms,
        strategy: Strategy,
        members: list[Member],
        made: Outlook | None = None,
    ) -> Outlook | None:
        """Where the strategy wants it; `made` where there is such a one already."""
        wish = strategy.wants_outlook
        if wish is Wish.NEVER:
            return None
        known = (
            all(map(self._predictor.trusted, [member.name for member in members]))
            if made is None
            else made.known
        )
        if wish is Wish.TRUSTED and not known:
            return None
        if made is not None:
            return made
        usual = self._usual.of(terms.request.workload)
        return outlook(terms, members, self._predictor, usual, known=known)

    def _try(self, terms: Terms, trial: Trial, members: list[Member], match: Match) -> str | None:
        """Where the policy on trial would place it, on the loads that the one in force saw."""
        asked, terms = terms.request, replace(terms, request=trial.request)
        alike = (asked.workload, asked.priority) == (trial.request.workload, trial.request.priority)
        made = terms.outlook if alike else None
        terms.outlook = self._outlook(terms, trial.strategy, members, made)
        room, cap = trial.room, trial.max_p_tokens
        try:
            open_ = open_to(trial.request, members, match.hits, self._predictor, room)
            terms = choosable(terms, members, open_, room=room, max_p_tokens=cap)
        except PlacementError:
            return None
        row = self._pick(terms, trial.strategy.cost(terms))
        return self._fleet[terms.slots[row]].name

    def _take(
        self, member: Member, request: RequestView, match: Match, p: float, now: float
    ) -> Lease:
        head = member.account.head
        trail = self.index.insert(
            member.shelf,
            match,
            capacity=int(member.cache_tokens / self._mean_block_tokens(request)),
            unsettled=head.trail.stamp if head else inf,
        )
        aims = has_targets(request)
        lease = Lease(
            instance=member.name,
            ledger=self._ledger,
            index=self.index,
            account=member.account,
            trail=trail,
            prompt_tokens=max(1, request.prompt_tokens),
            uncached_tokens=round(p),
            block_tokens=request.block_tokens,
            sequences=request.sequences,
            streams=request.streams,
            taken_s=now,
            harm=0 if aims else self._harm(request),
            stakes=stakes(request) if aims else (),
            tenant=request.tenant,
            left=round(request.sequences * (request.expected_output_tokens or 0)),
            workload=request.workload,
        )
        self._ledger.add(lease, now)
        return lease

    def _harm(self, request: RequestView) -> int:
        """Of one without targets, in HARM_UNIT."""
        rates = Rates.of(request, self._usual.of(request.workload))
        return round(harm(request, rates) / HARM_UNIT)

    def _mean_block_tokens(self, request: RequestView) -> float:
        """Tokens of a block over the recent requests: a cache holds blocks of all of them."""
        if self._block_tokens is None:
            self._block_tokens = request.block_tokens
        self._block_tokens += (request.block_tokens - self._block_tokens) * BLOCK_TOKENS_GAIN
        return self._block_tokens

    def _explain(self, terms: Terms, cost: list[float]) -> tuple[Candidate, ...]:
        columns = (terms.slots, terms.q, terms.p, terms.b, terms.c, cost)
        return tuple(
            Candidate(self._fleet[slot].name, *row) for slot, *row in zip(*columns, strict=True)
        )


def _fullness(member: Member) -> tuple[float, float]:
    return member.account.memory.tokens / member.cache_tokens, member.account.sequences
