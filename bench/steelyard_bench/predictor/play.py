"""A fleet in virtual time whose every placement is put down beside what an oracle says of it.

The oracle copies the chosen engine as it is at that moment, submits the request to the copy, and
lets it run until it is done: it knows what the engine does and how long every reply will be, and
nothing of who will come.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from random import Random
from typing import Final

from steelyard_bench.predictor.row import KINDS, Row, Times
from steelyard_bench.predictor.truth import Truth
from steelyard_router.scheduling.strategy import AUTO, build
from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import EventKind, Job
from steelyard_simulator.engine.profile import profile
from steelyard_simulator.load.mix import Mix
from steelyard_simulator.load.selection import jittered
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.agenda import Rank
from steelyard_simulator.replay.fleet import Fleet, Settings
from steelyard_simulator.replay.instance import Stream
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.policy import Arrival
from steelyard_simulator.replay.scenario import JITTER_S
from steelyard_simulator.replay.scheduled import SchedulerPolicy
from steelyard_simulator.replay.source import OpenLoop

MIX: Final = "slo"
PROFILE: Final = "reference"
INSTANCES: Final = 4
COPY: Final = "copy"
"""The id of the request in a copy."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """From then on every step of every engine takes `factor` times as long."""

    at_s: float
    factor: float


@dataclass(frozen=True, slots=True)
class Load:
    """`rate_per_s` of all instances together."""

    rate_per_s: float
    duration_s: float
    seed: int = 1
    throttle: Throttle | None = None


class Telling(SchedulerPolicy):
    """The router's own placement; `rows` gets what it predicts."""

    rows: dict[int, Row]

    def place(self, arrival: Arrival, now: float) -> str:
        decision = self.scheduler.choose(arrival.view, self.strategy(arrival.workload), now)
        row = self.rows[arrival.id] = Row(arrival.id, arrival.workload, now)
        row.told["router"] = Times(decision.ttft_s, decision.tpot_s)
        return self.keep(arrival.id, decision)


class Mean:
    """Of what was measured so far."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys(KINDS, 0.0)
        self._counts = dict.fromkeys(KINDS, 0)

    def add(self, measured: Times) -> None:
        for kind, seconds in zip(KINDS, measured, strict=True):
            if seconds is not None:
                self._sums[kind] += seconds
                self._counts[kind] += 1

    @property
    def times(self) -> Times:
        counts, sums = self._counts, self._sums
        return Times(*(sums[kind] / counts[kind] if counts[kind] else None for kind in KINDS))


class Watched(Fleet):
    """Asks the oracle and the constant before each request is submitted."""

    rows: dict[int, Row]
    means: dict[str, Mean]
    truth: Truth | None
    """Told when the engines slow down."""

    def throttle(self, change: Throttle) -> None:
        self._agenda.add(change.at_s, Rank.CHANGE, partial(self._slow_down, change.factor))

    def _slow_down(self, factor: float, now: float) -> None:
        for instance in self._instances:
            self._settle(instance, now)
            instance.engine.profile = instance.engine.profile.slowed(factor)
        if self.truth is not None:
            self.truth.slow_down(factor)

    def _submit(self, stream: Stream, name: str, now: float) -> None:
        row = self.rows[stream.arrival.id]
        row.told["oracle"] = oracle(self._ready[name].engine, stream.job, now)
        row.told["constant"] = self.means.setdefault(row.workload, Mean()).times
        super()._submit(stream, name, now)


def oracle(engine: Engine, job: Job, now: float) -> Times:
    """What would become of it there if nobody came any more."""
    copy = deepcopy(engine)
    copy.submit(replace(job, id=COPY), now)
    at_s = {event.kind: event.at_s for event in copy.advance(inf) if event.job.id == COPY}
    first_s, end_s = at_s[EventKind.FIRST_TOKEN], at_s[EventKind.FINISHED]
    gaps = job.output_tokens - 1
    return Times(first_s - now, (end_s - first_s) / gaps if gaps > 0 else None)


def play(load: Load, *, told: bool = False) -> list[Row]:
    """All requests, in the order of their arrival. `told`: the router need not learn what steps
    cost (truth.py).
    """
    mix = Mix(MIX, load.rate_per_s, load.duration_s)
    requests: Sequence[TraceRequest] = jittered(
        mix.draw(load.seed).requests, JITTER_S, Random(load.seed)
    )
    rows: dict[int, Row] = {}
    means: dict[str, Mean] = {}

    def ended(outcome: Outcome) -> None:
        measured = Times(outcome.ttft_s, outcome.tpot_s)
        rows[outcome.number].measured = measured
        means.setdefault(outcome.workload, Mean()).add(measured)

    truth = Truth(profile(PROFILE)) if told else None
    policy = Telling(lambda: build(AUTO), truth)
    policy.rows = rows
    fleet = Watched(
        [profile(PROFILE)] * INSTANCES,
        [policy],
        requests,
        OpenLoop(requests),
        settings=Settings(slos=mix.slos, seed=load.seed),
        on_outcome=ended,
    )
    fleet.rows, fleet.means, fleet.truth = rows, means, truth
    if load.throttle is not None:
        fleet.throttle(load.throttle)
    fleet.run()
    return [rows[number] for number in sorted(rows)]
