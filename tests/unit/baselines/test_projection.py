"""Latency by simulation: against the engine model itself, and the two rules that use it."""

import pytest
from support.placing import PLAIN, arrival, load, policy, put, warm

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.baselines.rollout import Part, prefill_s, tpot_s, ttft_s
from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import EventKind, Job
from steelyard_simulator.engine.profile import profile
from steelyard_simulator.replay.policy import Options

TEN = "abcdefghij"
REFERENCE = profile("reference")


def simulated_ttft_s(prompts: list[int]) -> float:
    """Of the last of prompts that are there together."""
    engine = Engine(REFERENCE)
    for number, tokens in enumerate(prompts):
        engine.submit(Job(str(number), tokens, 500), 0.0)
    return max(
        event.at_s for event in engine.advance(1000.0) if event.kind is EventKind.FIRST_TOKEN
    )


@pytest.mark.parametrize("prompts", [[100], [20_000], [8192, 8192], [9000, 300, 12_345]])
def test_the_projection_is_what_the_engine_does_from_rest(prompts: list[int]) -> None:
    """But for the first prompt: the engine begins it alone, before the others are there."""
    projected = prefill_s(REFERENCE, [Part(tokens, 0) for tokens in prompts])
    assert projected == pytest.approx(simulated_ttft_s(prompts), rel=0.03)


def test_cached_tokens_cost_their_attention_alone() -> None:
    whole = prefill_s(REFERENCE, [Part(1000, 0)])
    tail = prefill_s(REFERENCE, [Part(1000, 50_000)])
    assert tail - whole == pytest.approx(REFERENCE.attention_s * 1000 * 50_000)


def test_a_decoding_batch_takes_tokens_and_time_of_each_step() -> None:
    # 1000 tokens a step less 10 decoding: 990 + 10, two steps of .01 + 10 * .002
    assert prefill_s(PLAIN, [Part(1000, 0)], sequences=10) == pytest.approx(1.0 + 2 * 0.03)


def test_ttft_falls_while_the_head_of_the_line_is_computed() -> None:
    made = policy("least-ttft", instances=1)
    (instance,) = made.fleet
    put(made, "e0", arrival(1, prompt_tokens=1000), now=10.0)
    own = arrival(2, prompt_tokens=500)
    whole = ttft_s(made.options, instance, own, 0, 10.0)
    assert whole == pytest.approx(1.01 + 0.51 + 0.002)  # the first decodes by then
    assert ttft_s(made.options, instance, own, 0, 10.6) == pytest.approx(whole - 0.6)
    assert ttft_s(made.options, instance, own, 0, 99.0) == pytest.approx(
        0.51
    )  # never below its own


def test_the_next_in_line_is_computed_from_when_the_one_before_it_fails() -> None:
    made = policy("least-ttft", instances=1)
    (instance,) = made.fleet
    for number in (1, 2):
        put(made, "e0", arrival(number, prompt_tokens=1000), now=10.0)
    made.failed(1, 14.0)
    own = arrival(3, prompt_tokens=500)
    assert ttft_s(made.options, instance, own, 0, 14.5) == pytest.approx(1.01 + 0.51 + 0.002 - 0.5)


def test_slower_instances_take_longer() -> None:
    options = Options(profile=PLAIN, slowness={"e0": 2.5})
    made = policy("least-ttft", instances=1)
    (instance,) = made.fleet
    own = arrival(1, prompt_tokens=500)
    assert ttft_s(options, instance, own, 0, 0.0) == pytest.approx(2.5 * 0.51)
    assert tpot_s(options, instance, own) == pytest.approx(2.5 * 0.012)


@pytest.mark.parametrize(
    ("queued", "chosen"),
    [
        # Warm e0 computes 300 of 1000 tokens behind its line, cold e1 all of them.
        pytest.param(600, "e0", id="600 + 300 before 1000"),
        pytest.param(800, "e1", id="800 + 300 after 1000"),
    ],
)
def test_least_ttft_weighs_the_line_against_the_cache(queued: int, chosen: str) -> None:
    made = policy("least-ttft", instances=2)
    warm(made, "e0", TEN[:7])
    put(made, "e0", arrival(1, prompt_tokens=queued))
    assert made.place(arrival(2, TEN), 0.0) == chosen


def test_least_ttft_of_equal_ones_takes_the_first() -> None:
    assert policy("least-ttft").place(arrival(1), 0.0) == "e0"


def test_polyserve_packs_where_both_targets_still_hold() -> None:
    made = policy("polyserve", recent=0, tpot_ms=40)
    load(made, {"e0": 15, "e1": 14, "e2": 3})
    # .01 + .002 * (14 + 1) = 40 ms on e1; 42 ms on e0
    assert made.place(arrival(1), 0.0) == "e1"


def test_polyserve_keeps_the_ttft_target_too() -> None:
    made = policy("polyserve", recent=0)
    load(made, {"e0": 5})
    put(made, "e0", arrival(1, prompt_tokens=6000))
    assert made.place(arrival(2, slo=SLO(ttft_s=2.0)), 0.0) == "e1"


def test_polyserve_takes_the_least_tpot_when_nobody_can() -> None:
    made = policy("polyserve", recent=0, tpot_ms=20)
    load(made, {"e0": 30, "e1": 20, "e2": 25})
    assert made.place(arrival(1), 0.0) == "e1"


def test_polyserve_skips_those_it_chose_last_while_others_remain() -> None:
    made = policy("polyserve", instances=4)
    chosen = [made.place(arrival(number), 0.0) for number in range(4)]
    assert len(set(chosen)) == 4
    alone = policy("polyserve", instances=1)
    assert [alone.place(arrival(number), 0.0) for number in range(3)] == ["e0"] * 3
