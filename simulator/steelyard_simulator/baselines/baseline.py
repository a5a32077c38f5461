"""What all baselines share: they count what they place, and choose by a rule of their own."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.prefix import NoPrefixes, Prefixes
from steelyard_simulator.replay.policy import Arrival, Options, Polled


class Baseline:
    """A Policy whose rule is `choose`; the rest is the bookkeeping around it.

    Deterministic: random numbers come from the seed and the number of the router view alone.
    """

    name: ClassVar[str]
    holds: bool = False
    wants_progress: bool = False
    poll_interval_s: float | None = None

    def __init__(self, options: Options) -> None:
        self.options = options
        self.rng = Random(f"{self.name}/{options.seed}/{options.router}")
        self.fleet: list[Instance] = []
        """In order of joining."""
        self.prefixes = self.knowledge()
        self._claims: dict[int, Claim] = {}

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        """The row of `fleet` to place it on. `hits`: prompt tokens that each is believed to have
        cached, in the same order.
        """
        raise NotImplementedError

    def knowledge(self) -> Prefixes:
        """Where it knows prefixes from."""
        return NoPrefixes()

    def joined(self, instance: Instance) -> None:
        """For rules with a state of their own by instance."""

    def left(self, instance: Instance) -> None: ...

    def placed(self, claim: Claim, now: float) -> None: ...

    def answered(self, claim: Claim, now: float) -> None:
        """The first byte has come; the claim still counts as it did before it."""

    def dropped(self, claim: Claim) -> None:
        """It has ended without a first byte."""

    def released(self, claim: Claim) -> None:
        """It has ended, in whatever way; it counts no more."""

    def join(
        self, instance: str, *, cache_tokens: int, block_tokens: int, speed_hint: float | None
    ) -> None:
        del speed_hint
        taken = {member.slot for member in self.fleet}
        slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
        member = Instance(instance, slot, cache_tokens, block_tokens)
        self.fleet.append(member)
        self.prefixes.open(member)
        self.joined(member)

    def leave(self, instance: str) -> None:
        """Its claims still end one by one, to no effect on whoever gets its slot."""
        for member in self.fleet:
            if member.name == instance:
                self.fleet.remove(member)
                self.prefixes.close(member)
                self.left(member)
                return

    def place(self, arrival: Arrival, now: float) -> str:
        hits = self.prefixes.hits(arrival, self.fleet)
        row = self.choose(arrival, hits, now)
        instance = self.fleet[row]
        claim = Claim(arrival, instance, now, arrival.prompt_tokens - hits[row])
        self._claims[arrival.id] = claim
        if not instance.unanswered:
            instance.head_since = now
        instance.claims[arrival.id] = instance.unanswered[arrival.id] = claim
        instance.queued_tokens += claim.uncached_tokens
        instance.all_tokens += arrival.prompt_tokens
        self.prefixes.placed(claim)
        self.placed(claim, now)
        return instance.name

    def first_byte(self, arrival_id: int, now: float) -> None:
        claim = self._claims.get(arrival_id)
        if claim is None or arrival_id not in claim.instance.unanswered:
            return
        self.answered(claim, now)
        self.prefixes.answered(claim)
        claim.instance.head_since = now
        self._leave_queue(claim)

    def progress(self, arrival_id: int, output_tokens: int, now: float) -> None:
        del now
        if claim := self._claims.get(arrival_id):
            claim.instance.all_tokens += output_tokens - claim.output_tokens
            claim.output_tokens = output_tokens

    def finished(
        self, arrival_id: int, now: float, *, output_tokens: int, cached_tokens: int | None
    ) -> None:
        del output_tokens
        self.first_byte(arrival_id, now)
        if claim := self._claims.get(arrival_id):
            self.prefixes.finished(claim, cached_tokens)
            self._release(claim, now)

    def failed(self, arrival_id: int, now: float) -> None:
        if claim := self._claims.get(arrival_id):
            self.prefixes.finished(claim, None)
            self._release(claim, now)

    def polled(self, instance: str, metrics: Polled) -> None:
        for member in self.fleet:
            if member.name == instance:
                member.polled = metrics

    def _leave_queue(self, claim: Claim) -> None:
        if claim.instance.unanswered.pop(claim.arrival.id, None):
            claim.instance.queued_tokens -= claim.uncached_tokens

    def _release(self, claim: Claim, now: float) -> None:
        """`now` becomes the head's time if it was the head that ended unanswered."""
        head = next(iter(claim.instance.unanswered.values()), None)
        if head is claim:
            claim.instance.head_since = now
        if claim.arrival.id in claim.instance.unanswered:
            self.dropped(claim)
        self._leave_queue(claim)
        del self._claims[claim.arrival.id]
        del claim.instance.claims[claim.arrival.id]
        claim.instance.all_tokens -= claim.arrival.prompt_tokens + claim.output_tokens
        self.released(claim)
