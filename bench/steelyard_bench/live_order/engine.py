"""The engines: real ones, which obey ranks or not, or simulated ones, which never do."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from steelyard_bench.fidelity.engine import Engine, Site, real_engines, simulated_engines
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.live_order.plan import LIMITS
from steelyard_simulator.engine.profile import Profile

Start = Callable[[Ground, int, str], AbstractAsyncContextManager[list[Engine]]]
"""So many engines, from when all serve until the block ends, with that --scheduling-policy."""

PROFILE: Final = Profile(
    name="live-order",
    base_s=4e-3,
    per_prefill_token_s=2e-5,
    per_sequence_s=1e-4,
    per_context_token_s=1e-7,
    attention_s=1e-9,
    kv_tokens=LIMITS.usable_tokens,
    block_tokens=LIMITS.block_tokens,
    max_num_batched_tokens=LIMITS.step_tokens,
    max_num_seqs=LIMITS.sequences,
    max_model_len=LIMITS.model_tokens,
)


def real(site: Site) -> Start:
    """Each on whatever core is free: there are more of them than cores."""

    def start(
        ground: Ground, count: int, scheduling: str
    ) -> AbstractAsyncContextManager[list[Engine]]:
        told = ("--scheduling-policy", scheduling)
        return real_engines(ground, site, LIMITS, [None] * count, arguments=told)

    return start


@asynccontextmanager
async def simulated(ground: Ground, count: int, scheduling: str) -> AsyncIterator[list[Engine]]:
    """Always in order of arrival. Raises FidelityError."""
    del scheduling
    file = ground.folder / "profile.json"
    file.write_text(PROFILE.to_json(), encoding="utf-8")
    async with simulated_engines(ground, file, speed=1.0, count=count) as engines:
        yield engines
