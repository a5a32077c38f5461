"""Small fleets in virtual time, and policies that write down what they are told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.fleet import Fleet, Settings
from steelyard_simulator.replay.policy import Arrival, Options, Placement, Policy, Polled
from steelyard_simulator.replay.registry import build_policy
from steelyard_simulator.replay.source import OpenLoop, Source

BLOCK = 512

QUICK = Profile(
    name="quick",
    base_s=0.01,
    per_prefill_token_s=1e-4,
    per_sequence_s=0.0,
    per_context_token_s=0.0,
    attention_s=0.0,
    kv_tokens=100 * BLOCK,
    block_tokens=BLOCK,
)
"""A step takes 10 ms, and a tenth of a millisecond for each prefill token."""


def request(
    at_s: float, tokens: int = 100, output: int = 11, blocks: Sequence[int] = (), **more: object
) -> TraceRequest:
    ranges = tuple(range(block, block + 1) for block in blocks)
    return TraceRequest(at_s, tokens, output, ranges, **more)  # type: ignore[arg-type]


def policy(name: str) -> Policy:
    return build_policy(name, seed=1, options=Options())


def fleet(
    requests: Sequence[TraceRequest],
    policies: Sequence[Policy],
    *,
    instances: int = 2,
    profile: Profile = QUICK,
    slowness: Sequence[float] = (),
    source: Source | None = None,
    settings: Settings | None = None,
) -> Fleet:
    return Fleet(
        [profile] * instances,
        policies,
        requests,
        source or OpenLoop(requests),
        slowness=slowness,
        settings=settings,
    )


@dataclass
class Diary:
    """Places where it is told to: by default on the first instance that is ready."""

    pick: Callable[[list[str], Arrival], str] = field(default=lambda ready, _: ready[0])
    holds: bool = False
    wants_progress: bool = True
    poll_interval_s: float | None = None
    ready: list[str] = field(default_factory=list)
    hints: dict[str, float | None] = field(default_factory=dict)
    events: list[tuple[str, object, float]] = field(default_factory=list)
    metrics: list[tuple[str, Polled]] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)

    def told(self, kind: str) -> list[tuple[object, float]]:
        return [(what, at_s) for name, what, at_s in self.events if name == kind]

    def join(
        self, instance: str, *, cache_tokens: int, block_tokens: int, speed_hint: float | None
    ) -> None:
        self.ready.append(instance)
        self.hints[instance] = speed_hint

    def leave(self, instance: str) -> None:
        self.ready.remove(instance)

    def place(self, arrival: Arrival, now: float) -> str | None:
        self.arrivals.append(arrival)
        return self._pick(arrival, now)

    def first_byte(self, arrival_id: int, now: float) -> None:
        self.events.append(("first_byte", arrival_id, now))

    def progress(self, arrival_id: int, output_tokens: int, now: float) -> None:
        self.events.append(("progress", (arrival_id, output_tokens), now))

    def finished(
        self, arrival_id: int, now: float, *, output_tokens: int, cached_tokens: int | None
    ) -> None:
        self.events.append(("finished", (arrival_id, output_tokens, cached_tokens), now))

    def failed(self, arrival_id: int, now: float) -> None:
        self.events.append(("failed", arrival_id, now))

    def polled(self, instance: str, metrics: Polled) -> None:
        self.metrics.append((instance, metrics))

    def _pick(self, arrival: Arrival, now: float) -> str:
        chosen = self.pick(self.ready, arrival)
        self.events.append(("place", (arrival.id, chosen), now))
        return chosen


@dataclass
class Keeper(Diary):
    """Holds everything, and lets go by arrival while fewer than `room` of its requests run."""

    holds: bool = True
    room: float = 1
    max_wait_s: float = inf
    """Then it refuses."""
    asked: list[float] = field(default_factory=list)
    waiting: dict[int, tuple[Arrival, float]] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)

    @property
    def next_s(self) -> float | None:
        due = min((since + self.max_wait_s for _, since in self.waiting.values()), default=inf)
        return None if due == inf else due

    def place(self, arrival: Arrival, now: float) -> str | None:
        self.arrivals.append(arrival)
        self.waiting[arrival.id] = arrival, now
        return None

    def dispatch(self, now: float) -> list[Placement]:
        self.asked.append(now)
        late = [
            number for number, (_, since) in self.waiting.items() if now >= since + self.max_wait_s
        ]
        for number in late:
            del self.waiting[number]
        gone = [Placement(number, None) for number in late]
        while self.ready and self.waiting and len(self.running) < self.room:
            number, (arrival, _) = next(iter(self.waiting.items()))
            del self.waiting[number]
            self.running.add(number)
            gone.append(Placement(number, self._pick(arrival, now)))
        return gone

    def finished(
        self, arrival_id: int, now: float, *, output_tokens: int, cached_tokens: int | None
    ) -> None:
        super().finished(arrival_id, now, output_tokens=output_tokens, cached_tokens=cached_tokens)
        self.running.remove(arrival_id)

    def failed(self, arrival_id: int, now: float) -> None:
        super().failed(arrival_id, now)
        self.running.discard(arrival_id)
        self.waiting.pop(arrival_id, None)
