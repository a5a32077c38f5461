"""The replay in the simulation: the same requests, the same policies, engines of a profile.

Played several times, each arrival up to JITTER_S later in each: how the figures differ is chance.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.load.selection import jittered
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.fleet import Fleet, Settings
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.policy import Options
from steelyard_simulator.replay.registry import build_policy
from steelyard_simulator.replay.source import OpenLoop

JITTER_S: Final = 0.05
POLL_S: Final = 2.0
"""As the router's configuration has it."""


def play(
    requests: Sequence[TraceRequest], profile: Profile, policy: str, *, engines: int, seed: int
) -> list[Outcome]:
    """Once, by one seed's jitter; prompts with all that the engine will count."""
    moved = jittered(requests, JITTER_S, Random(seed))
    fleet = Fleet(
        [profile] * engines,
        [build_policy(policy, seed=seed, options=Options(profile=profile))],
        moved,
        OpenLoop(moved),
        settings=Settings(poll_interval_s=POLL_S, seed=seed),
    )
    return fleet.run()
