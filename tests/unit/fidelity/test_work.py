"""The work that a fit is told of is what the simulated engine does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fidelity_case import SMALL

from steelyard_bench.fidelity.work import Costs, Work, decoding, first_token
from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import EventKind, Job

COSTS = Costs(
    overhead_s=0.0,
    base_s=SMALL.base_s,
    per_prefill_token_s=SMALL.per_prefill_token_s,
    attention_s=SMALL.attention_s,
    per_sequence_s=SMALL.per_sequence_s,
    per_context_token_s=SMALL.per_context_token_s,
)


def times(engine: Engine, job: Job, now: float) -> tuple[float, float, int]:
    """Until its first token, from there to its end, and what was cached of it."""
    engine.submit(job, now)
    events = [one for one in engine.advance(1e9) if one.job.id == job.id]
    at_s = {one.kind: one.at_s for one in events}
    first_s = at_s[EventKind.FIRST_TOKEN]
    return first_s - now, at_s[EventKind.FINISHED] - first_s, events[0].cached_tokens


@given(
    tokens=st.integers(1, 4096),
    known=st.integers(0, 60),
    output=st.integers(2, 100),
    step_tokens=st.sampled_from([64, 500, 512, 8192]),
)
def test_a_lone_request_takes_the_time_of_its_work(
    tokens: int, known: int, output: int, step_tokens: int
) -> None:
    engine = Engine(replace(SMALL, max_num_batched_tokens=step_tokens))
    hashes = tuple(range(tokens // 64))
    times(engine, Job("before", tokens, 1, hashes[:known]), 0.0)

    first_s, rest_s, cached = times(engine, Job("it", tokens, output, hashes), 1000.0)

    work = first_token(tokens, cached, step_tokens=step_tokens)
    assert first_s == pytest.approx(COSTS.of(work))
    assert rest_s == pytest.approx(COSTS.of(decoding(output - 1, [tokens + 1])))


def test_a_reply_among_others_takes_the_time_of_all_their_steps() -> None:
    engine = Engine(SMALL)
    for number in range(3):
        engine.submit(Job(f"other-{number}", 100, 1000), 0.0)
    engine.advance(1.0)
    engine.submit(Job("it", 40, 33), 1.0)
    events = [one for one in engine.advance(2.5) if one.job.id == "it"]
    first, last = events
    said = [engine.generated(f"other-{number}") for number in range(3)]
    # each of the others says one token in each step between now and then
    steps_since = round((2.5 - last.at_s) / 0.008)
    assert steps_since > 0

    contexts = [41, *(100 + one - steps_since - 32 for one in said)]

    assert last.at_s - first.at_s == pytest.approx(COSTS.of(decoding(32, contexts)), rel=1e-3)


def test_each_amount_has_a_cost_of_its_own() -> None:
    costs = Costs(*(10.0**place for place in range(6)))

    assert costs.of(Work(1, 2, 3, 4, 5, 6)) == 654_321.0
    assert costs.of(Work(requests=2, steps=4)) == 42.0
