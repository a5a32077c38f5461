"""Hand-made situations for policies: arrivals from block names, and placements by decree."""

from collections.abc import Sequence
from unittest.mock import patch

from xxhash import xxh3_64_digest

from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_simulator.baselines import REGISTRY, Baseline
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.replay.policy import Arrival, Options

BLOCK_TOKENS = 100
CACHE_TOKENS = 100_000

PLAIN = Profile(
    name="plain",
    base_s=0.01,
    per_prefill_token_s=0.001,
    per_sequence_s=0.002,
    per_context_token_s=0.0,
    attention_s=0.0,
    kv_tokens=CACHE_TOKENS,
    block_tokens=BLOCK_TOKENS,
    max_num_batched_tokens=1000,
)
"""A step takes 10 ms + 1 ms a prefill token + 2 ms a decoding sequence."""


def chain(names: Sequence[object], seed: bytes = b"") -> bytes:
    """Hashes of which each stands for all names up to it."""
    hashes = b""
    for name in names:
        seed = xxh3_64_digest(seed + str(name).encode())
        hashes += seed
    return hashes


def arrival(
    number: int,
    blocks: Sequence[object] = (),
    *,
    prompt_tokens: int | None = None,
    session: str | None = None,
    slo: SLO | None = None,
    expected_output_tokens: float | None = None,
) -> Arrival:
    """By default as long as its blocks, or one block where there are none."""
    hashes = chain(blocks)
    tokens = prompt_tokens or max(1, len(blocks)) * BLOCK_TOKENS
    return Arrival(
        id=number,
        at_s=0.0,
        workload="default",
        prompt_tokens=tokens,
        output_tokens=10,
        expected_output_tokens=expected_output_tokens,
        blocks=hashes,
        block_tokens=BLOCK_TOKENS,
        session=session,
        slo=slo or SLO(),
        weights=Weights(),
        view=RequestView(blocks=hashes, block_tokens=BLOCK_TOKENS, prompt_tokens=tokens),
    )


def policy(
    name: str,
    instances: int = 3,
    *,
    seed: int = 0,
    router: int = 0,
    routers: int = 1,
    cache_tokens: int = CACHE_TOKENS,
    profile: Profile = PLAIN,
    slowness: dict[str, float] | None = None,
    **parameters: float,
) -> Baseline:
    """A baseline with members e0, e1, ..."""
    options = Options(
        seed=seed,
        router=router,
        routers=routers,
        profile=profile,
        slowness=slowness or {},
        parameters=parameters,
    )
    made = REGISTRY[name](options)
    for number in range(instances):
        join(made, f"e{number}", cache_tokens)
    return made


def join(made: Baseline, instance: str, cache_tokens: int = CACHE_TOKENS) -> None:
    made.join(instance, cache_tokens=cache_tokens, block_tokens=BLOCK_TOKENS, speed_hint=None)


def put(made: Baseline, instance: str, what: Arrival, now: float = 0.0) -> None:
    """Placed there, whatever the rule would say."""
    row = [member.name for member in made.fleet].index(instance)
    with patch.object(made, "choose", lambda *_: row):
        made.place(what, now)


def load(made: Baseline, counts: dict[str, int], *, tokens: int = 100) -> None:
    """So many decoding requests, each of other blocks than anything else."""
    for instance, count in counts.items():
        for number in range(count):
            what = arrival(-1000 * int(instance[1:]) - number - 1, prompt_tokens=tokens)
            put(made, instance, what)
            made.first_byte(what.id, 0.0)


def warm(made: Baseline, instance: str, blocks: Sequence[object], number: int = 10**6) -> None:
    """A request with these blocks has been there and ended."""
    put(made, instance, arrival(number, blocks))
    made.first_byte(number, 0.0)
    made.finished(number, 0.0, output_tokens=1, cached_tokens=None)
