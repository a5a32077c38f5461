"""From engines to costs: all are probed at once, again and again between the replays.

At once, because neighbours on one machine slow each other down, and in the replay a neighbour works
most of the time. Again and again, because what a machine shared with others can do changes from
minute to minute: one fit over all rounds is what the replays are compared with, and the fit over
the two rounds around a replay tells how fast the engines were just then.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from steelyard_bench.fidelity.fit import errors, fit
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.other import Others, watched
from steelyard_bench.fidelity.probe import Prober, calibrate
from steelyard_bench.fidelity.work import Costs, Observation, Work, decoding, first_token

TYPICAL: Final = (1024, 32, 4)
"""A prompt, the steps of its reply, and the replies in each of them: a measure of pace."""


@dataclass(frozen=True, slots=True)
class Round:
    """What the engines answered, once."""

    observations: Sequence[Observation]
    others: Others


async def probe(probers: Sequence[Prober], limits: Limits) -> Round:
    """Raises FidelityError."""
    with watched() as others:
        found = await asyncio.gather(
            *(calibrate(prober, step_tokens=limits.step_tokens) for prober in probers)
        )
    return Round([one for each in found for one in each], others)


def fitted(rounds: Sequence[Round]) -> Costs:
    return fit([one for each in rounds for one in each.observations])


def pace(costs: Costs, usual: Costs, limits: Limits) -> float:
    """How many times as long a typical request takes."""
    prompt, steps, size = TYPICAL
    parts = (
        first_token(prompt, 0, step_tokens=limits.step_tokens),
        decoding(steps, [prompt] * size),
    )
    work = Work(*map(sum, zip(*parts, strict=True)))
    return costs.of(work) / usual.of(work)


def described(rounds: Sequence[Round]) -> dict[str, Any]:
    """The fit over all rounds, and how far it is from what it was fitted to."""
    costs = fitted(rounds)
    observations = [one for each in rounds for one in each.observations]
    return {
        "rounds": len(rounds),
        "costs": costs._asdict(),
        "errors": {
            kind: {
                "observations": len(found),
                "median": round(median(found), 4),
                "typical": round(median(map(abs, found)), 4),
                "largest": round(max(*found, -min(found)), 4),
            }
            for kind, found in errors(costs, observations).items()
        },
        "others": [each.others.to_dict() for each in rounds],
    }
