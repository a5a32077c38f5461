"""What a decision costs: choose, lease, insert and evict, on an index that is full.

A case is filled through the scheduler itself until every instance's share is full, so that every
new block evicts an old one, and timed with nothing learned, and with more (knowledge.py). Each
decision is timed by itself, while the leases of earlier ones go on and end, and with the garbage
collector set as the router sets it. A p99 is the median of those of several rounds, which are
reported too: another process's burst is not a property of ours.

The worst cases are prompts that nobody would send, made so that a decision has to walk and to evict
block by block, on instances that each hold another part of the prompt.
"""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from statistics import median
from time import perf_counter_ns, thread_time_ns
from typing import Final

import numpy as np

from steelyard_bench import footprint
from steelyard_bench.collector import as_the_router_sets_it
from steelyard_bench.conversation import Conversations
from steelyard_bench.footprint import Footprint
from steelyard_bench.knowledge import Knowledge, Trusting
from steelyard_router.analysis.block import chain
from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.request import HASH_BYTES
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy import AUTO, build

BLOCK_TOKENS: Final = 64
UNLIMITED_BYTES: Final = 10**12
REQUESTS_PER_S: Final = 100.0
HELD: Final = 16
"""Leases per instance."""
OPEN: Final = 8
"""Conversations per instance."""
WORST_TARGETS: Final = 8
"""Instances among which the worst prompts are placed."""
HASHED_BYTES: Final = 400_000

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it is done."""


@dataclass(frozen=True, slots=True)
class Case:
    """So many instances, prompts of about so many tokens, an engine's cache of so many blocks."""

    instances: int
    prompt_tokens: int
    cache_blocks: int

    @property
    def prompt_blocks(self) -> int:
        return self.prompt_tokens // BLOCK_TOKENS

    def __str__(self) -> str:
        return f"{self.instances} instances, {self.prompt_tokens:,}-token prompts"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    cases: tuple[Case, ...]
    worst: tuple[Case, ...]
    rounds: int
    decisions: int
    worst_decisions: int
    memory_blocks: int


FULL: Final = Plan(
    cases=(Case(16, 32_768, 110_000), Case(512, 100_000, 8192)),
    worst=(Case(16, 32_768, 512), Case(512, 100_000, 1562)),
    rounds=5,
    decisions=2000,
    worst_decisions=40,
    memory_blocks=1_000_000,
)
QUICK: Final = Plan(
    cases=(Case(4, 6400, 1000),),
    worst=(Case(10, 1280, 20),),
    rounds=2,
    decisions=50,
    worst_decisions=5,
    memory_blocks=20_000,
)


@dataclass(frozen=True, slots=True)
class Timing:
    """One case's figures. What was really asked and held is beside what was meant."""

    known: str
    instances: int
    prompt_tokens: int
    blocks_indexed: int
    block_holders: int
    p50_us: float
    p99_us: float
    p99_cpu_us: float
    """Of the processor time, which other processes on the machine do not lengthen much."""
    max_us: float
    rounds_p99_us: list[float]
    mean_prompt_tokens: float
    hit_ratio: float
    gc_runs: int
    full_gc_us: float
    """What a full collection would take now; the router's thresholds keep it away."""


@dataclass(frozen=True, slots=True)
class Report:
    """`index_bytes_per_holder` is that of the first footprint."""

    cases: list[Timing]
    worst_cases: list[Timing]
    index_bytes_per_holder: float
    footprints: list[Footprint]
    hash_400kB_us: float  # noqa: N815  the name is fixed


def measure(plan: Plan, progress: Progress) -> Report:
    """All of it; a minute or two for FULL."""
    with as_the_router_sets_it():
        hash_us = _hash_us(50, progress)
        cases = [each for case in plan.cases for each in _conversations(case, plan, progress)]
        worst = [_fragments(case, plan, progress) for case in plan.worst]
    footprints = []
    for place, kind in enumerate(footprint.KINDS):
        progress("memory of the index", place / len(footprint.KINDS))
        footprints.append(footprint.measure(kind, plan.memory_blocks, holders=4))
    progress("memory of the index", 1.0)
    return Report(cases, worst, footprints[0].bytes_per_holder, footprints, hash_us)


@dataclass(frozen=True, slots=True)
class Sample:
    """One decision."""

    instance: str
    took_us: float
    cpu_us: float
    hit_tokens: float
    prompt_tokens: int


class Bench:
    """A scheduler of one case with requests that live and end."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.rng = np.random.default_rng(1)
        self.known = Knowledge.NOTHING
        self._predictor = Trusting()
        self.scheduler = Scheduler(index_bytes=UNLIMITED_BYTES, predictor=self._predictor)
        self.names = [f"engine-{number}" for number in range(case.instances)]
        for name in self.names:
            self.scheduler.join(name, cache_tokens=case.cache_blocks * BLOCK_TOKENS)
        self._strategy = build(AUTO)
        self._now = 0.0
        self._number = 0
        self._leases: list[Lease] = []

    @property
    def fullness(self) -> float:
        room = self.case.cache_blocks * self.case.instances
        return self.scheduler.index.holder_count / room

    def decide(self, blocks: bytes, among: frozenset[str] | None = None) -> Sample:
        """Place a prompt, timed. Then the requests that are there go on."""
        self._now += 1 / REQUESTS_PER_S
        self._number += 1
        tokens = len(blocks) // HASH_BYTES * BLOCK_TOKENS + BLOCK_TOKENS // 2
        request = self.known.view(
            self._number, blocks=blocks, block_tokens=BLOCK_TOKENS, prompt_tokens=tokens
        )
        choose, placing = self.scheduler.choose, self.known.placing
        cpu, wall = thread_time_ns(), perf_counter_ns()
        decision = choose(request, self._strategy, self._now, among=among, **placing)
        wall, cpu = perf_counter_ns() - wall, thread_time_ns() - cpu
        self._go_on(decision.lease)
        return Sample(decision.instance, wall / 1000, cpu / 1000, decision.hit_tokens, tokens)

    def learn(self, known: Knowledge) -> None:
        """From now on it knows that; until then it knew less."""
        self.known, self._predictor.trust = known, known is not Knowledge.NOTHING

    def _go_on(self, lease: Lease) -> None:
        """A recent request is answered, any one gets tokens, an old one ends; each at random."""
        leases, rng = self._leases, self.rng
        leases.append(lease)
        leases[-int(rng.integers(1, min(len(leases), HELD) + 1))].first_byte(self._now)
        leases[int(rng.integers(len(leases)))].progress(int(rng.integers(500)))
        if len(leases) > HELD * self.case.instances:
            leases.pop(int(rng.integers(len(leases) // 2))).release(self._now)

    def summarize(self, rounds: int, play: Callable[[], Iterator[Sample]]) -> Timing:
        """The figures of the decisions that each round of `play` gives."""
        gc_runs = _gc_runs()
        samples = [list(play()) for _ in range(rounds)]
        p99s = [_percentile([sample.took_us for sample in each], 99) for each in samples]
        every = [sample for each in samples for sample in each]
        took = [sample.took_us for sample in every]
        tokens = sum(sample.prompt_tokens for sample in every)
        index = self.scheduler.index
        return Timing(
            known=self.known.value,
            instances=self.case.instances,
            prompt_tokens=self.case.prompt_tokens,
            blocks_indexed=index.block_count,
            block_holders=index.holder_count,
            p50_us=_percentile(took, 50),
            p99_us=median(p99s),
            p99_cpu_us=_percentile([sample.cpu_us for sample in every], 99),
            max_us=max(took),
            rounds_p99_us=p99s,
            mean_prompt_tokens=tokens / len(every),
            hit_ratio=sum(sample.hit_tokens for sample in every) / tokens,
            gc_runs=_gc_runs() - gc_runs,
            full_gc_us=_full_gc_us(),
        )


def _conversations(case: Case, plan: Plan, progress: Progress) -> Iterator[Timing]:
    """The same load with more and more known."""
    bench = Bench(case)
    source = Conversations(bench.rng, case.prompt_blocks, OPEN * case.instances)
    while (full := bench.fullness) < 1:
        for _ in range(100):
            bench.decide(source.next())
        progress(f"filling: {case}", full)
    progress(f"filling: {case}", 1.0)
    label, total = f"deciding: {case}", plan.rounds * plan.decisions * len(Knowledge)
    done = count(1)

    def play() -> Iterator[Sample]:
        for _ in range(plan.decisions):
            yield bench.decide(source.next())
            progress(label, next(done) / total)

    for known in Knowledge:
        bench.learn(known)
        yield bench.summarize(plan.rounds, play)


def _fragments(case: Case, plan: Plan, progress: Progress) -> Timing:
    """Half of the prompt is known in runs of one block, of which every instance holds others; the
    other half is new, and evicts prompts of one block.
    """
    bench, half = Bench(case), case.prompt_blocks // 2
    known, fresh = bench.rng.bytes(half * HASH_BYTES), bench.rng.bytes
    label = f"worst: {case}"
    for fork in range(1, half):
        name = bench.names[fork % case.instances]
        bench.decide(known[: fork * HASH_BYTES] + fresh(HASH_BYTES), frozenset({name}))
        progress(label, fork / half / 2)
    for place, name in enumerate(bench.names):
        held = max(1, half * (place + 1) // case.instances)
        bench.decide(known[: held * HASH_BYTES], frozenset({name}))
    targets = bench.names[-WORST_TARGETS:]
    total, done = plan.rounds * plan.worst_decisions, count(1)

    def play() -> Iterator[Sample]:
        for name in targets:
            _fill_with_single_blocks(bench, half, frozenset({name}))
        for _ in range(plan.worst_decisions):
            sample = bench.decide(known + fresh(half * HASH_BYTES), frozenset(targets))
            yield sample
            _fill_with_single_blocks(bench, half, frozenset({sample.instance}))
            progress(label, 0.5 + next(done) / total / 2)

    return bench.summarize(plan.rounds, play)


def _fill_with_single_blocks(bench: Bench, prompts: int, among: frozenset[str]) -> None:
    for _ in range(prompts):
        bench.decide(bench.rng.bytes(HASH_BYTES), among)


def _hash_us(times: int, progress: Progress) -> float:
    """Median time to turn a prompt of 400 kB into chained block hashes."""
    progress("hashing", 0.0)
    text = np.random.default_rng(1).bytes(HASHED_BYTES)
    took = []
    for _ in range(times):
        begun = perf_counter_ns()
        chain(text)
        took.append((perf_counter_ns() - begun) / 1000)
    progress("hashing", 1.0)
    return median(took)


def _percentile(values: list[float], percent: float) -> float:
    return float(np.percentile(values, percent))


def _gc_runs() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def _full_gc_us() -> float:
    begun = perf_counter_ns()
    gc.collect()
    return (perf_counter_ns() - begun) / 1000
