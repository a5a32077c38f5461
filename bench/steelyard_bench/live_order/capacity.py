"""What the engines can do at most: a closed loop that keeps all of their slots busy."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from steelyard_bench.fidelity.engine import MODEL
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.live import Router, check_whole, play
from steelyard_simulator.load.client import Target
from steelyard_simulator.load.job import Job
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

USERS: Final = 2
"""For each slot: who waits takes it as soon as it is free."""
SUPPLY: Final = 10_000
"""Requests: more than can be asked in the time."""
REST_S: Final = 1.0
"""Until an engine has noticed that its clients have left."""


class Capacity(NamedTuple):
    """`service_s` is how long a request holds a slot, by Little's law."""

    rate_per_s: float
    service_s: float

    def to_dict(self) -> dict[str, Any]:
        return {name: round(value, 4) for name, value in self._asdict().items()}


def capacity(
    found: Sequence[Measurement], *, slots: int, from_s: float, until_s: float
) -> Capacity:
    """From those that ended in that time. Pure. Raises FidelityError where there are none."""
    ends_s = [one.at_s + one.e2e_s for one in found if one.error is None and one.e2e_s is not None]
    ended = sum(from_s <= end_s < until_s for end_s in ends_s)
    if not ended:
        raise FidelityError(f"nothing was answered in {until_s - from_s:g} s of a closed loop")
    rate_per_s = ended / (until_s - from_s)
    return Capacity(rate_per_s, slots / rate_per_s)


async def measure(
    to: Router,
    asked: Sequence[TraceRequest],
    *,
    block_tokens: int,
    slots: int,
    warm_s: float,
    measured_s: float,
    seed: int,
) -> Capacity:
    """`asked`: SUPPLY of what they are to be measured with. Who is still asking at the end goes
    away, which an engine takes REST_S to notice. Raises FidelityError.
    """
    found: list[Measurement] = []
    target = Target(to.url, MODEL)
    job = Job(target, tuple(asked), block_tokens, users=USERS * slots, seed=seed)
    until_s = warm_s + measured_s
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(until_s):
            await play(job, found.append)
    check_whole(found)
    await asyncio.sleep(REST_S)
    return capacity(found, slots=slots, from_s=warm_s, until_s=until_s)
