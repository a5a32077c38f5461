"""The two classes of requests, and when they come. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, count, takewhile
from random import Random
from typing import Final

from steelyard_simulator.load.trace import TraceRequest

BLOCK_TOKENS: Final = 64
LONGEST_STRICT_TOKENS: Final = 80
"""The router takes a prompt up to here for one of the strict class: far from those of both, since
it only estimates lengths, and a chat template adds to them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Lengths in tokens are drawn evenly between the two bounds, both included."""

    name: str
    share: float
    prompt: tuple[int, int]
    reply: tuple[int, int]

    def request(self, at_s: float, rng: Random) -> TraceRequest:
        """All of its prompt is its own."""
        return TraceRequest(
            at_s=at_s,
            input_tokens=rng.randint(*self.prompt),
            output_tokens=rng.randint(*self.reply),
            scope=self.name,
            workload=self.name,
        )


STRICT: Final = Kind("strict", 0.3, prompt=(32, 32), reply=(8, 8))
LOOSE: Final = Kind("loose", 0.7, prompt=(128, 256), reply=(48, 96))
KINDS: Final = (STRICT, LOOSE)


def kind_of(prompt_tokens: int) -> Kind:
    """Whose prompts are as long."""
    return STRICT if prompt_tokens <= LONGEST_STRICT_TOKENS else LOOSE


def arrivals(rate_per_s: float, span_s: float, seed: int) -> tuple[TraceRequest, ...]:
    """Poisson. At another rate the same requests come, as much closer."""
    rng = Random(f"live-order/times/{seed}")
    times = accumulate(rng.expovariate(1.0) / rate_per_s for _ in count())
    return tuple(_drawn(takewhile(lambda at_s: at_s < span_s, times), seed))


def supply(requests: int, seed: int) -> tuple[TraceRequest, ...]:
    """For a closed loop: none has a time."""
    return tuple(_drawn(iter([0.0] * requests), seed))


def _drawn(times: Iterator[float], seed: int) -> Iterator[TraceRequest]:
    rng = Random(f"live-order/requests/{seed}")
    for at_s in times:
        (kind,) = rng.choices(KINDS, [each.share for each in KINDS])
        yield kind.request(at_s, rng)
