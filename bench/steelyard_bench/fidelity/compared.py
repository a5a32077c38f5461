"""Live replays beside simulated ones: the figures of both, policy by policy. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from steelyard_bench.fidelity.calibration import Round, fitted, pace
from steelyard_bench.fidelity.figure import (
    Figures,
    deviation,
    mean,
    of_measurements,
    of_outcomes,
)
from steelyard_bench.fidelity.fit import to_profile
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.other import Others
from steelyard_bench.fidelity.placed import pairs, summary
from steelyard_bench.fidelity.probe import Reply
from steelyard_bench.fidelity.slice import longer
from steelyard_bench.fidelity.virtual import play
from steelyard_bench.fidelity.work import first_token
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

SEEDS: Final = 10
PROFILE: Final = "vllm-cpu"


@dataclass(frozen=True, slots=True)
class Played:
    """What clients saw of one policy, and what else ran meanwhile."""

    policy: str
    measurements: Sequence[Measurement]
    others: Others


@dataclass(frozen=True, slots=True)
class Live:
    """Replays before `engines` engines, `speed` times as fast as the times of `requests` say.

    `asked` are lone prompts through the router, all cached but for less than a step; `template` is
    what the engines' chat template adds to a prompt.
    """

    requests: Sequence[TraceRequest]
    engines: int
    speed: float
    asked: Sequence[Reply]
    template: int
    played: Sequence[Played]

    def overhead_s(self, profile: Profile) -> float:
        """What a request takes outside of its engine's steps, to its first token."""
        found = []
        for one in self.asked:
            prompt = one.ending.prompt_tokens or 0
            work = first_token(prompt, one.ending.cached_tokens or 0, step_tokens=prompt)
            step_s = profile.step_s(
                prefill_tokens=int(work.prefill_tokens),
                pairs=int(work.pairs),
                sequences=0,
                context_tokens=0,
            )
            found.append((one.first_s - one.sent_s) * self.speed - step_s)
        return max(0.0, median(found))

    def simulated(self, policy: str, profile: Profile) -> list[Figures]:
        """Of several runs."""
        overhead_s = self.overhead_s(profile)
        counted = longer(self.requests, self.template)
        return [
            of_outcomes(
                play(counted, profile, policy, engines=self.engines, seed=seed),
                overhead_s=overhead_s,
            )
            for seed in range(SEEDS)
        ]


def compared(live: Live, profile: Profile) -> dict[str, Any]:
    """As the document has it."""
    overhead_s = live.overhead_s(profile)
    return {
        "speed": live.speed,
        "overhead_s": overhead_s,
        "policies": [_policy(live, one, profile, overhead_s) for one in live.played],
    }


def beside(live: Live, rounds: Sequence[Round], limits: Limits) -> list[dict[str, Any]]:
    """Of each policy: how slow the engines were by the probes around its replay, and the simulation
    of engines as slow as that. There is a round before each replay, and one behind the last."""
    usual = fitted(rounds)
    found = []
    for number, one in enumerate(live.played):
        own = fitted(rounds[number : number + 2])
        runs = live.simulated(one.policy, to_profile(PROFILE, own, limits))
        found.append({"pace": round(pace(own, usual, limits), 4), "beside": mean(runs)})
    return found


def _policy(live: Live, one: Played, profile: Profile, overhead_s: float) -> dict[str, Any]:
    runs = live.simulated(one.policy, profile)
    alike = pairs(
        longer(live.requests, live.template),
        one.measurements,
        profile,
        overhead_s=overhead_s,
        speed=live.speed,
    )
    return {
        "policy": one.policy,
        "live": of_measurements(one.measurements, time_scale=live.speed).to_dict(),
        "simulated": mean(runs),
        "chance": deviation(runs),
        "placed": summary(alike),
        "others": one.others.to_dict(),
    }
