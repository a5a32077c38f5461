from dataclasses import replace

import pytest
from support.stepping import TOY, Story, make_job, prefix, run_dry, stories

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import EventKind


def serve(engine: Engine, name: str, prompt: int, output: int, hashes: tuple[int, ...]) -> Story:
    """Runs one job alone to its end."""
    engine.submit(make_job(name, prompt, output, hashes=hashes), now=0.0)
    return stories(run_dry(engine))[name]


def test_a_repeated_prompt_hits_whole_blocks_and_computes_the_rest() -> None:
    engine = Engine(TOY)
    cold = serve(engine, "cold", 70, 1, prefix(1, 4))
    warm = serve(engine, "warm", 70, 1, prefix(1, 4))

    assert (cold.cached, warm.cached) == (0, 64)
    assert warm.first_s == pytest.approx(1.0 + 0.01 * 6 + 0.0001 * sum(range(65, 71)))
    assert engine.counters.query_tokens == 140
    assert engine.counters.hit_tokens == 64


def test_at_least_one_token_of_a_fully_cached_prompt_is_computed() -> None:
    engine = Engine(TOY)
    serve(engine, "cold", 64, 1, prefix(1, 4))
    warm = serve(engine, "warm", 64, 1, prefix(1, 4))

    assert warm.cached == 48


def test_a_hit_ends_at_the_first_block_that_differs() -> None:
    engine = Engine(TOY)
    first = prefix(1, 6)
    serve(engine, "a", 96, 1, first)
    other = serve(engine, "b", 96, 1, (*first[:2], *prefix(2, 4)))

    assert other.cached == 32


def test_the_least_recently_used_prompt_is_evicted_first() -> None:
    engine = Engine(replace(TOY, kv_tokens=12 * 16))
    for tag in (1, 2, 3):
        serve(engine, f"fill {tag}", 64, 1, prefix(tag, 4))
    serve(engine, "touch 1", 65, 1, prefix(1, 4))
    serve(engine, "new", 64, 1, prefix(4, 4))

    hits = {tag: serve(engine, f"probe {tag}", 64, 1, prefix(tag, 4)).cached for tag in (1, 4, 3)}
    # "new" pushed 2 out. Probing 1 and 4 moves nothing but their own tails.
    assert hits == {1: 48, 4: 48, 3: 48}
    assert serve(engine, "probe 2", 64, 1, prefix(2, 4)).cached == 0


def test_a_prompt_loses_its_tail_before_its_head() -> None:
    engine = Engine(replace(TOY, kv_tokens=8 * 16))
    serve(engine, "old", 97, 1, prefix(1, 6))
    serve(engine, "new", 64, 1, prefix(2, 4))

    assert serve(engine, "again", 97, 1, prefix(1, 6)).cached == 64


def test_generated_blocks_are_hit_by_the_next_turn_when_their_hashes_are_known() -> None:
    engine = Engine(TOY)
    conversation = prefix(1, 8)
    serve(engine, "turn 1", 40, 41, conversation)
    following = serve(engine, "turn 2", 100, 1, conversation)

    # 81 tokens, of which the last one's KV was never computed: five whole blocks.
    assert following.cached == 80


def test_a_prompt_in_prefill_can_be_hit_by_the_next_one() -> None:
    engine = Engine(TOY)
    shared = prefix(1, 4)
    engine.submit(make_job("a", 64, 1, hashes=shared), now=0.0)
    engine.submit(make_job("b", 64, 1, hashes=shared), now=0.0)
    told = stories(run_dry(engine))

    assert told["b"].cached == 48


def test_shared_blocks_take_room_once() -> None:
    engine = Engine(replace(TOY, kv_tokens=10 * 16, max_num_batched_tokens=1000))
    shared = prefix(1, 6)
    for name in "abcd":
        engine.submit(make_job(name, 97, 5, hashes=shared), now=0.0)
    engine.advance(engine.next_step_s or 0.0)

    assert engine.running == 4
    assert engine.kv_usage == pytest.approx(1.0)


def test_the_queue_waits_until_the_whole_prompt_fits() -> None:
    engine = Engine(replace(TOY, kv_tokens=20 * 16, max_num_batched_tokens=1000))
    engine.submit(make_job("big", 250, 3), now=0.0)
    engine.submit(make_job("next", 100, 1), now=0.0)
    engine.submit(make_job("small", 5, 1), now=0.0)
    engine.advance(engine.next_step_s or 0.0)

    # Strictly in order: the small one does not overtake the one that does not fit.
    assert (engine.running, engine.waiting) == (1, 2)
    told = stories(run_dry(engine))
    assert (told["next"].first_s or 0.0) > (told["big"].finished_s or 0.0)
    assert told["small"].first_s == told["next"].first_s


def test_when_decoding_runs_out_of_blocks_the_last_arrival_is_computed_again() -> None:
    engine = Engine(replace(TOY, kv_tokens=8 * 16))
    engine.submit(make_job("first", 48, 60), now=0.0)
    engine.submit(make_job("last", 48, 60), now=0.0)
    told = stories(run_dry(engine))

    assert told["first"].preempted == 0
    assert told["last"].preempted >= 1
    assert told["last"].order.count(EventKind.FIRST_TOKEN) == 1
    assert told["first"].generated == told["last"].generated == 60
    assert engine.counters.preemptions == told["last"].preempted
    assert engine.counters.generated_tokens == 120


def test_preemption_takes_the_lowest_priority_first() -> None:
    engine = Engine(replace(TOY, kv_tokens=8 * 16))
    engine.submit(make_job("first", 48, 60, priority=5), now=0.0)
    engine.submit(make_job("last", 48, 60, priority=0), now=0.0)
    told = stories(run_dry(engine))

    assert told["last"].preempted == 0
    assert told["first"].preempted >= 1


def test_nobody_is_admitted_in_the_step_that_preempts() -> None:
    engine = Engine(replace(TOY, kv_tokens=8 * 16))
    engine.submit(make_job("first", 48, 60, priority=1), now=0.0)
    engine.submit(make_job("last", 48, 60, priority=1), now=0.0)
    while engine.kv_usage < 1.0:
        engine.advance(engine.next_step_s or 0.0)
    engine.submit(make_job("urgent", 16, 1), now=engine.next_step_s or 0.0)
    while not engine.counters.preemptions:
        engine.advance(engine.next_step_s or 0.0)

    assert (engine.running, engine.waiting) == (1, 2)
    engine.advance(engine.next_step_s or 0.0)
    assert (engine.running, engine.waiting) == (2, 1)


def test_a_preempted_sequence_finds_its_own_blocks_again() -> None:
    engine = Engine(replace(TOY, kv_tokens=8 * 16))
    engine.submit(make_job("first", 48, 60), now=0.0)
    engine.submit(make_job("last", 48, 60, hashes=prefix(1, 3)), now=0.0)
    told = stories(run_dry(engine))

    assert told["last"].preempted >= 1
    # The counters tell of first admissions only, as vLLM's do.
    assert engine.counters.hit_tokens == 0
    assert engine.counters.query_tokens == 96


@pytest.mark.parametrize("wait_s", [0.0, 0.5, 4.0, 30.0])
def test_an_abort_frees_every_block_at_once(wait_s: float) -> None:
    engine = Engine(TOY)
    for name in "abcdefghij":
        engine.submit(make_job(name, 150, 90, hashes=prefix(ord(name), 9)), now=0.0)
    engine.advance(wait_s)
    for name in "abcdefghij":
        assert engine.abort(name, wait_s)

    assert (engine.running, engine.waiting, engine.kv_usage) == (0, 0, 0.0)
    assert engine.abort("a", wait_s) is False
    run_dry(engine)
    assert engine.next_step_s is None


def test_an_abort_does_not_disturb_the_others() -> None:
    engine = Engine(TOY)
    engine.submit(make_job("gone", 20, 500), now=0.0)
    engine.submit(make_job("stays", 20, 5), now=0.0)
    engine.advance(4.0)
    engine.abort("gone", 4.0)
    told = stories(run_dry(engine))

    assert told["stays"].generated == 5
    assert "gone" not in told or told["gone"].finished_s is None


def test_a_reset_cache_forgets_what_is_idle_and_later_what_was_running() -> None:
    engine = Engine(TOY)
    serve(engine, "idle", 65, 1, prefix(1, 4))
    engine.submit(make_job("running", 65, 50, hashes=prefix(2, 4)), now=0.0)
    engine.reset_cache()
    run_dry(engine)

    assert serve(engine, "probe 1", 65, 1, prefix(1, 4)).cached == 0
    assert serve(engine, "probe 2", 65, 1, prefix(2, 4)).cached == 0
    assert serve(engine, "again", 65, 1, prefix(2, 4)).cached == 64
