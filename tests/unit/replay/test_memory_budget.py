"""The KV budget of the router's pool, on simulated engines that tell how much of theirs is held."""

from dataclasses import replace

import pytest
from support.fleet_case import fleet, request

from steelyard_simulator.engine.profile import Profile, profile
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.fleet import Fleet, Settings
from steelyard_simulator.replay.policy import Options
from steelyard_simulator.replay.scheduler import build

BLOCK = 512
LARGE = replace(profile("reference"), block_tokens=BLOCK)
PREFIX = range(60)
"""Blocks of some 30,000 tokens."""


def play(
    requests: list[TraceRequest],
    on: Profile,
    scheduler: str = "default",
    *,
    poll_interval_s: float = 1.0,
) -> Fleet:
    policy = build(scheduler, "default", seed=1, options=Options())
    settings = Settings(poll_interval_s=poll_interval_s)
    played = fleet(requests, [policy], instances=1, profile=on, settings=settings)
    played.run()
    return played


def sharing(many: int, gap_s: float) -> list[TraceRequest]:
    """That have a beginning in common which is longer than all else of them."""
    return [
        request(number * gap_s, tokens=61 * BLOCK, output=600, blocks=[*PREFIX, 1000 + number])
        for number in range(many)
    ]


def test_prompts_with_a_beginning_in_common_are_not_held_for_what_is_there_once() -> None:
    """Counted in full, forty of them would be all that the memory has room for."""
    outcomes = play(sharing(200, 0.04), LARGE).outcomes

    together = max(
        sum(one.at_s <= other.at_s < one.at_s + (one.e2e_s or 0.0) for one in outcomes)
        for other in outcomes
    )
    assert together > 2 * 0.8 * LARGE.kv_tokens / (60 * BLOCK)
    assert [one.number for one in outcomes if one.wait_s > 0 and one.at_s > 3.0] == []


def test_until_an_engine_tells_every_prompt_counts_in_full() -> None:
    outcomes = play(sharing(60, 0.04), LARGE, poll_interval_s=1e6).outcomes

    assert any(one.wait_s > 0 for one in outcomes)


def test_what_is_cached_for_nobody_takes_room_again() -> None:
    """Ten sessions of which each fills a tenth of the memory, and that all go on at once."""
    first = [
        request(30.0 * n, tokens=60 * BLOCK, output=600, blocks=range(100 * n, 100 * n + 60))
        for n in range(10)
    ]
    again = [
        request(400.0 + 0.01 * n, 61 * BLOCK, 600, range(100 * n, 100 * n + 61)) for n in range(10)
    ]
    on = replace(LARGE, kv_tokens=620 * BLOCK)

    without, ours = (play(first + again, on, name) for name in ("fcfs:kv=1e9", "default"))

    assert without.preemptions > 0
    assert ours.preemptions == 0
    assert sum(one.cached_tokens > 0 for one in ours.outcomes) == 10


SMALL = replace(profile("reference"), kv_tokens=40_000)


@pytest.mark.parametrize("tokens", [200, 3000], ids=["short prompts", "long prompts"])
def test_replies_that_begin_together_are_not_preempted(tokens: int) -> None:
    """The first of them teach how long replies are; they come one at a time."""
    first = [request(40.0 * number, tokens=tokens, output=1500) for number in range(20)]
    burst = [request(1000.0 + 0.01 * n, tokens=tokens, output=1500) for n in range(60)]

    without = play(first + burst, SMALL, "fcfs:kv=1e9")
    ours = play(first + burst, SMALL, "default:wait=600")

    assert without.preemptions > 0
    assert ours.preemptions == 0
    assert all(one.e2e_s is not None for one in ours.outcomes)
