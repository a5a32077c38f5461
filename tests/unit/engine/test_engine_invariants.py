from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepping import TOY, run_dry, stories

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import Event, EventKind, Job, Phase

BLOCK = 4
SMALL = replace(
    TOY, kv_tokens=30 * BLOCK, block_tokens=BLOCK, max_num_batched_tokens=24, max_num_seqs=6
)


@dataclass(frozen=True)
class Arrival:
    """One job of a random schedule."""

    wait_s: float
    job: Job
    leaves_after_s: float | None


@st.composite
def schedules(draw: st.DrawFn) -> list[Arrival]:
    arrivals = []
    for index in range(draw(st.integers(1, 14))):
        family = draw(st.integers(0, 2))
        common = draw(st.integers(0, 6))
        prompt = draw(st.integers(1, 70))
        output = draw(st.integers(0, 119 - prompt if prompt > 80 else 40))
        known = (prompt + output) // BLOCK if draw(st.booleans()) else prompt // BLOCK
        hashes = tuple(
            family * 1000 + position if position < common else (index + 9) * 1000 + position
            for position in range(known)
        )
        arrivals.append(
            Arrival(
                wait_s=draw(st.floats(0, 6)),
                job=Job(str(index), prompt, output, hashes, draw(st.integers(0, 1))),
                leaves_after_s=draw(st.none() | st.floats(0, 30)),
            )
        )
    return arrivals


def check(engine: Engine) -> None:
    """What must hold between any two calls, read from the engine's inside."""
    pool, live = engine._pool, engine._sequences.values()
    held = Counter(block for one in live for block in one.job.block_hashes[: one.shared])
    assert dict(pool._shared) == dict(held)
    assert not set(pool._cached) & set(pool._shared)
    assert pool.used + pool.cached <= pool.capacity
    private = 0
    for one in live:
        if one.phase is Phase.WAITING:
            assert one.shared == 0
            continue
        slots = one.slots
        if one.phase is Phase.DECODE:
            slots = one.job.prompt_tokens + engine.generated(one.job.id)
        private += -(-slots // BLOCK) - one.shared
    assert pool._private == private >= 0
    assert engine.running <= engine.profile.max_num_seqs
    assert (engine.next_step_s is None) <= (engine.running == 0)
    context = sum(
        one.job.prompt_tokens + engine.generated(one.job.id)
        for one in live
        if one.phase is Phase.DECODE
    )
    assert engine.context_tokens == context


def play(
    engine: Engine, arrivals: list[Arrival], *, one_by_one: bool = False
) -> tuple[list[Event], set[str]]:
    """Runs a schedule to its end; returns the events and the ids that were aborted."""
    actions: list[tuple[float, int, Job | str]] = []
    now = 0.0
    for arrival in arrivals:
        now += arrival.wait_s
        actions.append((now, len(actions), arrival.job))
        if arrival.leaves_after_s is not None:
            actions.append((now + arrival.leaves_after_s, len(actions), arrival.job.id))
    events: list[Event] = []
    aborted = set()
    for at_s, _, action in sorted(actions, key=lambda one: one[:2]):
        if one_by_one:
            events += step_until(engine, at_s)
        if isinstance(action, Job):
            engine.submit(action, at_s)
        elif engine.abort(action, at_s):
            aborted.add(action)
        check(engine)
        events += engine.advance(at_s)
        check(engine)
    if one_by_one:
        events += step_until(engine, 1e9)
    events += run_dry(engine)
    check(engine)
    return events, aborted


def step_until(engine: Engine, now: float) -> list[Event]:
    """Advances a step at a time, forbidding the engine to decide on more than one ahead."""
    events: list[Event] = []
    while engine._stretch and (end := engine.next_step_s) is not None and end <= now:
        engine._stretch.cut()
        events += engine.advance(end)
        check(engine)
    return events


@given(schedules())
def test_every_job_ends_once_and_every_block_comes_back(arrivals: list[Arrival]) -> None:
    engine = Engine(SMALL)
    events, aborted = play(engine, arrivals)
    told = stories(events)

    for arrival in arrivals:
        job = arrival.job
        finished = job.id in told and told[job.id].finished_s is not None
        assert finished != (job.id in aborted)
        if finished:
            assert told[job.id].generated == job.output_tokens
            assert told[job.id].cached <= job.prompt_tokens - 1
            assert (told[job.id].first_s is not None) == (job.output_tokens > 0)
    assert (engine.running, engine.waiting, engine.kv_usage) == (0, 0, 0.0)
    preempted = sum(event.kind is EventKind.PREEMPTED for event in events)
    assert engine.counters.preemptions == preempted


@given(schedules())
def test_a_run_of_steps_decided_at_once_equals_the_steps_taken_one_by_one(
    arrivals: list[Arrival],
) -> None:
    at_once, _ = play(Engine(SMALL), arrivals)
    one_by_one, _ = play(Engine(SMALL), arrivals, one_by_one=True)

    assert [event[1:] for event in at_once] == [event[1:] for event in one_by_one]
    assert [event.at_s for event in at_once] == pytest.approx(
        [event.at_s for event in one_by_one], abs=1e-6
    )


@given(schedules())
def test_events_come_in_order_of_time(arrivals: list[Arrival]) -> None:
    events, _ = play(Engine(SMALL), arrivals)
    times = [event.at_s for event in events]

    assert times == sorted(times)
