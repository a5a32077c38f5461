"""How an engine that its memory made narrow gets its slots back when prompts are shorter."""

from collections.abc import Sequence
from dataclasses import replace

from support.fleet_case import fleet, request

from steelyard_simulator.engine.profile import profile
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.policy import Options
from steelyard_simulator.replay.pooled import PooledPolicy
from steelyard_simulator.replay.scheduler import build

SMALL = replace(profile("reference"), kv_tokens=100_000, max_num_seqs=256)
LONG = [request(0.05 * number, tokens=15_000, output=200) for number in range(40)]
SHORT = [request(200.0 + 0.08 * number, tokens=100, output=400) for number in range(800)]
"""For about a minute, and over forty at a time if there is room."""


def width_after(requests: Sequence[TraceRequest]) -> float:
    """No budget holds the long ones back, so the engine lets them wait and shows how many fit."""
    policy = build("fcfs:kv=1e9:wait=600", "default", seed=1, options=Options())
    assert isinstance(policy, PooledPolicy)
    played = fleet(requests, [policy], instances=1, profile=SMALL)
    assert all(one.e2e_s is not None for one in played.run())
    (load,) = policy.scheduler.snapshot(requests[-1].at_s)
    return load.width


def test_an_engine_that_long_prompts_made_narrow_takes_many_short_ones_within_a_minute() -> None:
    assert width_after(LONG) < 10
    assert width_after(LONG + SHORT) >= 32
