from dataclasses import replace

import pytest
from support.stepping import TOY, make_job, run_dry, stories

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import EventKind


def prefill_s(tokens: int, context: int = 0) -> float:
    pairs = sum(context + token for token in range(1, tokens + 1))
    return 0.01 * tokens + 0.0001 * pairs


def decode_s(*contexts: int) -> float:
    return 0.1 * len(contexts) + 0.001 * sum(contexts)


def test_one_request_takes_what_the_formula_says() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 50, 4), now=10.0)
    told = stories(run_dry(engine))["a"]

    first = 10.0 + 1.0 + prefill_s(50)
    assert told.first_s == pytest.approx(first)
    assert told.finished_s == pytest.approx(
        first + 3.0 + decode_s(51) + decode_s(52) + decode_s(53)
    )
    assert told.generated == 4
    assert told.order == [EventKind.FIRST_TOKEN, EventKind.FINISHED]


def test_a_single_output_token_ends_with_the_prefill() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 50, 1), now=0.0)
    told = stories(run_dry(engine))["a"]

    assert told.first_s == told.finished_s == pytest.approx(1.0 + prefill_s(50))


def test_a_job_without_output_prefills_and_generates_nothing() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 50, 0), now=0.0)
    told = stories(run_dry(engine))["a"]

    assert told.order == [EventKind.FINISHED]
    assert told.finished_s == pytest.approx(1.0 + prefill_s(50))
    assert engine.counters.generated_tokens == 0
    assert engine.counters.prompt_tokens == 50


def test_a_long_prompt_is_prefilled_in_chunks_of_the_token_budget() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 230, 1), now=0.0)
    told = stories(run_dry(engine))["a"]

    steps = (1.0 + prefill_s(100), 1.0 + prefill_s(100, 100), 1.0 + prefill_s(30, 200))
    assert told.first_s == pytest.approx(sum(steps))


def test_decoding_sequences_take_their_share_of_the_budget_from_prefill() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 20, 10), now=0.0)
    (first,) = engine.advance(1.0 + prefill_s(20))
    engine.submit(make_job("b", 100, 1), now=first.at_s)
    told = stories([first, *run_dry(engine)])

    # The step that runs when b arrives is a's alone; then 99 tokens fit beside a's, then the last.
    alone = 1.0 + decode_s(21)
    mixed = 1.0 + decode_s(22) + prefill_s(99)
    last = 1.0 + decode_s(23) + prefill_s(1, 99)
    assert told["b"].first_s == pytest.approx(first.at_s + alone + mixed + last)


def test_what_is_left_of_a_step_goes_to_the_next_in_the_queue() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 10, 1), now=0.0)
    engine.submit(make_job("b", 60, 1), now=0.0)
    engine.submit(make_job("c", 60, 1), now=0.0)
    told = stories(run_dry(engine))

    begun = 1.0 + prefill_s(10)
    second = begun + 1.0 + prefill_s(60) + prefill_s(40)
    third = second + 1.0 + prefill_s(20, 40)
    assert told["a"].first_s == pytest.approx(begun)
    assert told["b"].first_s == pytest.approx(second)
    assert told["c"].first_s == pytest.approx(third)


def test_an_arrival_waits_for_the_end_of_the_running_step() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 20, 50), now=0.0)
    assert engine.running == 1
    engine.advance(5.0)
    running_step_ends = engine.next_step_s
    engine.submit(make_job("b", 20, 1), now=5.0)

    assert engine.waiting == 1
    assert engine.next_change_s == running_step_ends
    assert running_step_ends is not None
    engine.advance(running_step_ends)
    assert engine.waiting == 0


def test_no_more_sequences_run_than_allowed() -> None:
    engine = Engine(replace(TOY, max_num_seqs=2))
    for name in "abc":
        engine.submit(make_job(name, 5, 3), now=0.0)
    seen = []
    while (at_s := engine.next_step_s) is not None:
        seen.append(engine.running)
        engine.advance(at_s)

    assert max(seen) == 2
    assert engine.counters.generated_tokens == 9


def test_a_lower_priority_value_goes_first() -> None:
    engine = Engine(replace(TOY, max_num_seqs=1))
    engine.submit(make_job("running", 5, 3), now=0.0)
    engine.submit(make_job("late", 5, 1, priority=1), now=0.0)
    engine.submit(make_job("urgent", 5, 1, priority=-1), now=0.1)
    told = stories(run_dry(engine))

    finished = {name: story.finished_s or 0.0 for name, story in told.items()}
    assert sorted(finished, key=finished.__getitem__) == ["running", "urgent", "late"]


def test_tokens_are_counted_while_a_run_of_decode_steps_is_under_way() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("a", 20, 50), now=0.0)
    engine.advance(1.0 + prefill_s(20))
    two_steps_later = 1.0 + prefill_s(20) + 2.0 + decode_s(21) + decode_s(22)

    engine.advance(two_steps_later - 0.01)
    assert engine.generated("a") == 2
    engine.advance(two_steps_later + 0.01)
    assert engine.generated("a") == 3


def test_a_slowed_profile_takes_proportionally_longer() -> None:
    ends = []
    for profile in (TOY, TOY.slowed(2.5)):
        engine = Engine(profile)
        engine.submit(make_job("a", 230, 7), now=0.0)
        ends.append(run_dry(engine)[-1].at_s)

    assert ends[1] == pytest.approx(2.5 * ends[0])


def test_what_can_never_fit_is_refused_at_once() -> None:
    engine = Engine(TOY)
    with pytest.raises(ValueError, match="room for 1600"):
        engine.submit(make_job("a", 1590, 11), now=0.0)
    engine.submit(make_job("b", 1590, 10), now=0.0)
    with pytest.raises(ValueError, match="in use"):
        engine.submit(make_job("b", 1, 1), now=0.0)
