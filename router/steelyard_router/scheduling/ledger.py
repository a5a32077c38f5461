"""The load of every instance, from leases: Q, B and C.

- Q, queued prefill: uncached tokens of the prompts not computed yet. An engine computes them in
  order of arrival, so of an instance's line the oldest is being computed, at the rate that its
  streams have shown. The end of a prefill is seen as a stream's first byte. A request that does not
  stream shows no such thing: it leaves the line when its time is up by that rate, or when a younger
  one is answered.
- B, sequences: of all leases, and what polled metrics show beyond ours.
- C, context: prompt and output tokens of the leases that decode.
- KV memory, held or promised: memory.py.

Pairs (predictor/coefficients.py) are counted beside the tokens of Q, and beside B what delays would
cost (objective.py, stake.py): whole numbers, so that what was added is taken away exactly, whatever
a predictor makes of them in the meantime. The same events are what the predictor and the usual
latencies are learned from.

Loads are attributes of the accounts, so that a decision reads them in one pass without a call.
"""

from collections import OrderedDict
from collections.abc import Iterator
from itertools import takewhile
from math import exp, inf
from typing import Final

from steelyard_router.scheduling.lease import Lease, Phase
from steelyard_router.scheduling.memory import Memory
from steelyard_router.scheduling.overhead import Overhead
from steelyard_router.scheduling.predictor import Observation, Predictor
from steelyard_router.scheduling.predictor.window import Window
from steelyard_router.scheduling.prefill_share import PrefillShare
from steelyard_router.scheduling.stake import Stakes
from steelyard_router.scheduling.usual import UsualLatency

PRIOR_TOKENS_PER_S: Final = 8000.0
PRIOR_S: Final = 0.25
"""Prefill rate before anything was seen, and how many seconds of seeing it is worth."""
MEMORY_S: Final = 10.0
"""Busy seconds after which an observation of the rate counts 1/e."""
OBSERVATION_S: Final = 15.0
"""How long polled counts hold when no newer ones come."""
HARM_UNIT: Final = 2.0**-30
"""Cost of a second, in which Lease.harm and Account.harm count."""


class Account:
    """One instance's entry in the ledger from join to leave.

    A lease keeps its account, so a lease that outlives its instance cannot touch the next tenant of
    the slot.
    """

    __slots__ = (
        "busy_s", "context", "decoding", "due", "harm", "head_pairs", "head_tokens",
        "instance", "leases", "line", "memory", "open", "others", "peak", "pending",
        "pending_pairs", "prefill_share", "prefilled", "rate", "sequences", "since", "stakes",
        "stale", "window", "workloads",
    )  # fmt: skip

    def __init__(self, instance: str) -> None:
        self.instance = instance
        self.open = True
        self.leases = 0
        self.line: OrderedDict[Lease, None] = OrderedDict()
        """Leases whose prompts are not computed, in order of arrival."""
        self.pending = 0
        """Uncached tokens of those,"""
        self.pending_pairs = 0
        """and their pairs;"""
        self.sequences = 0
        """sequences of all leases,"""
        self.harm = 0
        """what a delay costs those of them without targets,"""
        self.stakes = Stakes()
        """and what the others stand to lose;"""
        self.decoding = 0
        """sequences of the leases that decode;"""
        self.context = 0
        """context tokens of those that decode."""
        self.workloads: dict[str, int] = {}
        """Sequences by workload."""
        self.memory = Memory()
        self.others = 0.0
        """Sequences that are not ours, as the engine's reports show; rows of other routers would
        add to it.
        """
        self.stale = inf
        """When the last report must not be believed any more."""
        self.peak = 0
        """Most own sequences since the last report."""
        self.head_tokens = 0
        """Uncached tokens of the oldest in line,"""
        self.head_pairs = 0
        """its pairs,"""
        self.since = 0.0
        """when it came to be computed,"""
        self.rate = PRIOR_TOKENS_PER_S
        """at how many tokens per second (observed),"""
        self.due = inf
        """and when it will have been, if nothing else can show it; else never."""
        self.prefilled = PRIOR_TOKENS_PER_S * PRIOR_S
        self.busy_s = PRIOR_S
        self.window = Window()
        self.prefill_share = PrefillShare()

    @property
    def head(self) -> Lease | None:
        return next(iter(self.line), None)

    def queued(self, now: float) -> float:
        """Q at that time."""
        return self.pending - min(self.head_tokens, self.rate * (now - self.since))


class Ledger:
    """The accounts, and all that changes them. `now` must not go backwards."""

    def __init__(
        self, predictor: Predictor | None = None, usual: UsualLatency | None = None
    ) -> None:
        self._predictor = predictor
        self._usual = usual or UsualLatency()
        self.overhead = Overhead()
        self.leases_held = 0
        self.tenants: dict[str, int] = {}
        """Sequences that run, by tenant; those without one under an empty name."""
        self._accounts: dict[Account, None] = {}
        self._next_event = inf
        """No earlier than this is anything due or stale."""

    def open(self, instance: str = "") -> Account:
        account = Account(instance)
        self._accounts[account] = None
        return account

    def close(self, account: Account) -> None:
        """Nothing is left of the instance; its leases may still be released, to no effect here."""
        account.open = False
        account.line.clear()
        self._accounts.pop(account, None)

    def settle(self, now: float) -> None:
        """Let whatever is due or stale by now happen. To be called before loads are read."""
        if now < self._next_event:
            return
        for account in self._accounts:
            if account.due <= now:
                self._expire(account, now)
            if account.stale <= now:
                account.others, account.stale = 0.0, inf
        self._next_event = min(
            (min(account.due, account.stale) for account in self._accounts), default=inf
        )

    def add(self, lease: Lease, now: float) -> None:
        account = lease.account
        self.leases_held += 1
        account.leases += 1
        account.window.arrive(lease, idle=not account.sequences and not account.others)
        account.line[lease] = None
        account.pending += lease.uncached_tokens
        account.pending_pairs += lease.pairs
        account.sequences += lease.sequences
        account.harm += lease.harm
        for stake in lease.stakes:
            account.stakes.add(stake)
        account.memory.add(lease)
        self._count(lease, lease.sequences)
        if self._predictor is not None:
            costs = self._predictor.coefficients(account.instance)
            tokens, pairs = lease.uncached_tokens, lease.pairs
            seconds = costs.prefill(tokens, pairs)
            account.prefill_share.add(seconds, now, tokens=tokens, pairs=pairs)
        account.peak = max(account.peak, account.sequences)
        if len(account.line) == 1:
            self._advance(account, now)

    def answer(self, lease: Lease, now: float) -> None:
        """A prompt has been computed, and so have those before it that cannot show it."""
        account = lease.account
        if not account.open:
            lease.phase = Phase.DECODE
            return
        done = [older for older in _before(lease) if not older.streams]
        done.append(lease)
        of_head = account.head in done
        if lease.streams:
            busy_s = max(0.0, now - account.since) if of_head else 0.0
            self._learn(account, sum(each.uncached_tokens for each in done), busy_s)
            self._report(account, account.window.answer(lease, account, now))
            lease.first_s = now
            self._usual.learn_ttft(lease.workload, now - lease.taken_s)
            if lease.expected_s is not None:
                self.overhead.learn(now - lease.expected_s)
        for each in done:
            self._decode(each)
        if of_head:
            self._advance(account, now)

    def lengthen(self, lease: Lease, tokens: int, now: float | None) -> None:
        """A decoding lease has that many tokens more."""
        account = lease.account
        if not account.open:
            return
        account.context += tokens
        account.memory.lengthen(lease, tokens)
        if now is not None and lease.streams:
            self._report(account, account.window.sample(lease, tokens, account, now))

    def release(self, lease: Lease, now: float) -> None:
        account, phase = lease.account, lease.phase
        lease.phase = Phase.RELEASED
        self.leases_held -= 1
        account.leases -= 1
        self._count(lease, -lease.sequences)
        if not account.open:
            return
        account.sequences -= lease.sequences
        account.harm -= lease.harm
        for stake in lease.stakes:
            account.stakes.remove(stake)
        account.memory.release(lease)
        if phase is Phase.DECODE:
            account.window.end(lease)
            self._learn_tpot(lease, now)
            account.decoding -= lease.sequences
            account.context -= lease.prompt_tokens + lease.output_tokens
            return
        account.window.spoil()
        was_head = account.head is lease
        self._leave_line(lease)
        if was_head:
            self._advance(account, now)

    def observe(
        self,
        account: Account,
        running: int | None,
        waiting: int | None,
        now: float,
        *,
        kv_tokens: float | None = None,
    ) -> None:
        """Polled counts of an engine (None: not known, so nothing is assumed).

        A poll may be older than our latest releases and younger than our latest leases, so only
        what exceeds the most that we had since the poll before is taken for somebody else's.
        """
        seen = (running or 0) + (waiting or 0)
        account.others = max(0.0, seen - account.peak)
        account.peak = account.sequences
        account.stale = now + OBSERVATION_S
        if kv_tokens is not None:
            account.memory.report(kv_tokens, account.pending, account.context)
        self._next_event = min(self._next_event, now + OBSERVATION_S)

    def _count(self, lease: Lease, sequences: int) -> None:
        """So many more, or fewer, of its workload and of its tenant."""
        counts = lease.account.workloads, self.tenants
        for count, name in zip(counts, (lease.workload, lease.tenant or ""), strict=True):
            count[name] = count.get(name, 0) + sequences
            if not count[name]:
                del count[name]

    def _expire(self, account: Account, now: float) -> None:
        """Let those out of the line whose time is up by prediction, one after the other."""
        while (due := account.due) <= now and (head := account.head):
            self._decode(head)
            self._advance(account, due)

    def _decode(self, lease: Lease) -> None:
        self._leave_line(lease)
        account = lease.account
        account.window.count(lease)
        lease.phase = Phase.DECODE
        account.decoding += lease.sequences
        account.context += lease.prompt_tokens + lease.output_tokens

    def _leave_line(self, lease: Lease) -> None:
        del lease.account.line[lease]
        lease.account.pending -= lease.uncached_tokens
        lease.account.pending_pairs -= lease.pairs

    def _advance(self, account: Account, since: float) -> None:
        """From then on, the oldest in line is being computed."""
        head = account.head
        account.head_tokens = head.uncached_tokens if head else 0
        account.head_pairs = head.pairs if head else 0
        account.since = since
        account.due = inf
        if head:
            head.phase = Phase.PREFILL
            if not head.streams:
                account.due = since + head.uncached_tokens / account.rate
                self._next_event = min(self._next_event, account.due)

    def _report(self, account: Account, seen: Observation | None) -> None:
        if seen is not None and self._predictor is not None:
            self._predictor.observe(account.instance, seen)

    def _learn_tpot(self, lease: Lease, now: float) -> None:
        """From the whole of a reply, where it was seen to begin and has more than one token."""
        tokens = lease.output_tokens / lease.sequences
        if lease.first_s is not None and tokens > 1:
            self._usual.learn_tpot(lease.workload, (now - lease.first_s) / (tokens - 1))

    def _learn(self, account: Account, tokens: int, busy_s: float) -> None:
        """Rate = tokens / busy seconds, both fading with busy time. So prompts that are computed
        together and answered at once count together, and short ones, mostly latency, count little.
        """
        fade = exp(-busy_s / MEMORY_S)
        account.prefilled = account.prefilled * fade + tokens
        account.busy_s = account.busy_s * fade + busy_s
        account.rate = max(1.0, account.prefilled / account.busy_s)


def _before(lease: Lease) -> Iterator[Lease]:
    """The leases before this one in its line."""
    return takewhile(lambda other: other is not lease, lease.account.line)
