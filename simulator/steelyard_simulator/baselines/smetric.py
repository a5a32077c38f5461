"""SMetric: follow-up turns stay where their history is, unless that breaks the TTFT target.

Source: SMetric (arXiv 2607.08565) and its port in vllm-router (branch, src/policies/smetric.rs):

    own = c_lin * n + c_att * n * (L - n / 2)    n uncached of L prompt tokens
    queued = own + that of requests sent there without a first byte
    feasible: queued / rate <= slack * (1 s + 62.5 us * L)

A follow-up turn goes to the longest match, if that is feasible or nothing is. Everything else goes
to the least queued * requests there. Scanning starts one instance further with every request, so
equal ones (all idle ones cost 0) take turns.

A follow-up is known there by its message roles and by a match of more than half of the history that
it must have; traces have no messages. Here it is a request of a session seen before, or where there
are no sessions any; either must match more than half of its prompt. c_lin 1, c_att = attention over
linear cost of the engine's profile; slack 1 (the paper's values of ratio and slack are not public).
Rate = 90th percentile of the last 64 samples (8 at least) of own / seconds to the first byte, by
instance; before that everything is feasible.

Knows: its own requests, prompts by its own placing (as much as each engine's cache), and that ratio
of the profile. Parameters: slack 1, ratio 0.5.
"""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import first_most
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.prefix import Prefixes, RoutingHistory
from steelyard_simulator.replay.policy import Arrival, Options

BASE_S = 1.0
PER_TOKEN_S = 62.5e-6
SAMPLES = 64
LEAST_SAMPLES = 8


class _Work:
    """One instance's prefill work without a first byte, and the rate it has shown."""

    def __init__(self) -> None:
        self.pending = 0.0
        self.rate: float | None = None
        self._samples: deque[float] = deque(maxlen=SAMPLES)

    def learn(self, rate: float) -> None:
        self._samples.append(rate)
        count = len(self._samples)
        if count >= LEAST_SAMPLES:
            self.rate = sorted(self._samples)[int((count - 1) * 0.9 + 0.5)]


class Smetric(Baseline):
    """follow-ups: the longest match within the target; else least queued work * requests"""

    name: ClassVar[str] = "smetric"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.slack = options.parameter("slack", 1.0)
        self.ratio = options.parameter("ratio", 0.5)
        self.attention = options.profile.attention_s / options.profile.per_prefill_token_s
        self._work: dict[Instance, _Work] = {}
        self._sessions: set[str] = set()
        self._turn = 0

    def knowledge(self) -> Prefixes:
        return RoutingHistory()

    def joined(self, instance: Instance) -> None:
        self._work[instance] = _Work()

    def left(self, instance: Instance) -> None:
        del self._work[instance]

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        queued = [
            self._work[instance].pending + self._own(arrival.prompt_tokens, hit)
            for instance, hit in zip(self.fleet, hits, strict=True)
        ]
        order = self._order()
        if self._follows(arrival, max(hits)):
            warm = order[first_most([hits[row] for row in order])]
            if self._feasible(arrival, warm, queued[warm]) or not any(
                self._feasible(arrival, row, queued[row]) for row in order
            ):
                return warm
        return min(order, key=lambda row: queued[row] * self.fleet[row].requests)

    def placed(self, claim: Claim, now: float) -> None:
        del now
        self._work[claim.instance].pending += self._claimed(claim)
        if claim.arrival.session is not None:
            self._sessions.add(claim.arrival.session)

    def answered(self, claim: Claim, now: float) -> None:
        if (work := self._work.get(claim.instance)) is None:
            return
        work.pending -= self._claimed(claim)
        if now > claim.placed_at:
            work.learn(self._claimed(claim) / (now - claim.placed_at))

    def dropped(self, claim: Claim) -> None:
        if work := self._work.get(claim.instance):
            work.pending -= self._claimed(claim)

    def _order(self) -> list[int]:
        size, start = len(self.fleet), self._turn
        self._turn += 1
        return [(start + step) % size for step in range(size)]

    def _follows(self, arrival: Arrival, longest: int) -> bool:
        known = arrival.session is None or arrival.session in self._sessions
        return known and longest > self.ratio * arrival.prompt_tokens

    def _feasible(self, arrival: Arrival, row: int, queued: float) -> bool:
        rate = self._work[self.fleet[row]].rate
        target_s = self.slack * (BASE_S + PER_TOKEN_S * arrival.prompt_tokens)
        return rate is None or queued / rate <= target_s

    def _own(self, prompt_tokens: int, hit: int) -> float:
        uncached = prompt_tokens - hit
        return uncached + self.attention * uncached * (prompt_tokens - uncached / 2)

    def _claimed(self, claim: Claim) -> float:
        prompt = claim.arrival.prompt_tokens
        return self._own(prompt, prompt - claim.uncached_tokens)
