"""The simulated engine fed with what each engine was really sent, request by request. Pure.

A replay in the simulation decides for itself, and after the first placement that falls differently
its engines hold other things than the real ones. Here placements and times of sending are those of
the live replay, so that what differs is the model of the engine alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import fmean, median
from typing import Final

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import EventKind, Job
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.prompt import chained

END_S: Final = 1e9


@dataclass(frozen=True, slots=True)
class Pair:
    """One request, as it was and as the model has it."""

    ttft_s: float
    modelled_ttft_s: float
    cached_tokens: int
    modelled_cached_tokens: int


def pairs(
    requests: Sequence[TraceRequest],
    measurements: Sequence[Measurement],
    profile: Profile,
    *,
    overhead_s: float,
    speed: float = 1.0,
) -> list[Pair]:
    """`requests` as the engine counts them; all of them were answered, `speed` times as fast."""
    sent = list(zip(sorted(requests, key=_at_s), sorted(measurements, key=_at_s), strict=True))
    engines = sorted({one.instance or "" for _, one in sent})
    return [
        pair
        for engine in engines
        for pair in _on_one(
            [each for each in sent if (each[1].instance or "") == engine],
            profile,
            overhead_s,
            speed,
        )
    ]


def summary(found: Sequence[Pair]) -> dict[str, float]:
    """`same_cached` is the share of the requests whose cached tokens are equal, `ttft` how the
    model's mean differs, `off` how far it is off for half of the requests."""
    live = fmean(one.ttft_s for one in found)
    off = median(abs(one.modelled_ttft_s - one.ttft_s) for one in found)
    same = sum(one.cached_tokens == one.modelled_cached_tokens for one in found)
    return {
        "requests": len(found),
        "same_cached": round(same / len(found), 4),
        "ttft": round(fmean(one.modelled_ttft_s for one in found) / live - 1, 4),
        "off_ms": round(1000 * off, 2),
    }


def _on_one(
    sent: Sequence[tuple[TraceRequest, Measurement]],
    profile: Profile,
    overhead_s: float,
    speed: float,
) -> Iterator[Pair]:
    engine, fresh = Engine(profile), count(-1, -1)
    for number, (request, one) in enumerate(sent):
        engine.submit(_job(number, request, profile.block_tokens, fresh), one.at_s * speed)
    for event in engine.advance(END_S):
        if event.kind is EventKind.FIRST_TOKEN:
            request, one = sent[int(event.job.id)]
            assert one.ttft_s is not None
            yield Pair(
                ttft_s=one.ttft_s * speed,
                modelled_ttft_s=event.at_s - one.at_s * speed + overhead_s,
                cached_tokens=one.cached_tokens or 0,
                modelled_cached_tokens=event.cached_tokens,
            )


def _job(number: int, request: TraceRequest, block_tokens: int, fresh: Iterator[int]) -> Job:
    """With names for the blocks that it will say: they take room in a real cache, and nobody asks
    for them again."""
    hashes = list(chained(request, block_tokens))
    whole = (request.input_tokens + request.output_tokens) // block_tokens
    hashes += [next(fresh) for _ in range(whole - len(hashes))]
    return Job(str(number), request.input_tokens, request.output_tokens, tuple(hashes))


def _at_s(one: TraceRequest | Measurement) -> float:
    return one.at_s
