"""Random queues: what may wait when, on lanes that are busy.

Half chats, a quarter code, a quarter batch jobs, with lengths spread about like those of the public
traces (traces/README.md) and the targets of docs/ordering.md. Each has waited for some part of its
target, so some are in no hurry, some urgent and some too late.
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from steelyard_router.scheduling.order import Job, Lane, slots

NOW_S: Final = 1000.0
SLOTS: Final = 16
BASE_S: Final = 9.6e-3
"""From a token to the next on an engine like the profile `reference` with usual contexts,"""
SEQUENCE_S: Final = 120e-6
"""and more for each sequence there."""
PREFILL_S: Final = 40e-6
"""For each token of a prompt."""
HELD_S: Final = 2.5
"""Until a slot frees, on average."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Medians of lengths, their spread as the sigma of a log-normal, and targets."""

    prompt_tokens: float
    output_tokens: float
    spread: float
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    @property
    def patience_s(self) -> float:
        return min(each for each in (self.ttft_s, self.e2e_s) if each is not None)


CHAT: Final = Kind(1020, 130, 0.8, ttft_s=0.5, tpot_s=0.03)
CODE: Final = Kind(1470, 13, 1.0, ttft_s=1.0, tpot_s=0.06)
BATCH: Final = Kind(350, 530, 1.0, e2e_s=60.0)
MIX: Final = (CHAT, CHAT, CODE, BATCH)


def jobs(count: int, random: Random) -> list[Job]:
    """In the order of their arrival."""
    made = [_job(f"r{number}", random.choice(MIX), random) for number in range(count)]
    return sorted(made, key=lambda job: job.arrived_s)


def lane(name: str, random: Random, width: int = SLOTS) -> Lane:
    ends = [random.expovariate(1 / HELD_S) for _ in range(width)]
    return Lane(name, slots(ends, width), BASE_S, SEQUENCE_S, queued_s=0.1 * random.random())


def lanes(count: int, random: Random) -> list[Lane]:
    return [lane(f"i{number}", random) for number in range(count)]


def _job(key: str, kind: Kind, random: Random) -> Job:
    return Job(
        key,
        NOW_S - kind.patience_s * random.random(),
        PREFILL_S * kind.prompt_tokens * random.lognormvariate(0, kind.spread),
        max(1.0, kind.output_tokens * random.lognormvariate(0, kind.spread)),
        kind.ttft_s,
        kind.tpot_s,
        kind.e2e_s,
    )
