"""The mix of the simulated engines, made small enough for a tiny model on one core. Pure.

Arrivals are Poisson, lengths those of recorded requests, divided. Each workload says in a header
which one it is, since what is measured is predictions and not how workloads are told apart.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard_bench.predictor.play import MIX
from steelyard_simulator.load.mix import MIXES, Mix
from steelyard_simulator.load.trace import TraceRequest

HEADER: Final = "x-workload"
WORKLOADS: Final = tuple(part.workload for part in MIXES[MIX])
SHORTER_PROMPT: Final = 8
SHORTER_REPLY: Final = 4


def arrivals(rate_per_s: float, span_s: float, seed: int) -> tuple[TraceRequest, ...]:
    """All of each prompt is its own. At another rate the same requests come, closer together."""
    return tuple(map(_small, Mix(MIX, rate_per_s, span_s).draw(seed).requests))


def supply(requests: int, seed: int) -> tuple[TraceRequest, ...]:
    """Of which a closed loop takes as many as it likes."""
    return arrivals(1.0, float(requests), seed)


def only(workload: str, requests: Sequence[TraceRequest]) -> tuple[TraceRequest, ...]:
    """Those of one workload."""
    return tuple(one for one in requests if one.workload == workload)


def policy() -> dict[str, Any]:
    """The section of the router's configuration; beside the names all is as by default."""
    section: list[dict[str, Any]] = [
        {"name": name, "match": {"headers": {HEADER: name}}} for name in WORKLOADS
    ]
    section[0]["default"] = True
    return {"workloads": section}


def _small(one: TraceRequest) -> TraceRequest:
    return replace(
        one,
        input_tokens=-(-one.input_tokens // SHORTER_PROMPT),
        output_tokens=-(-one.output_tokens // SHORTER_REPLY),
        scope=one.workload,
    )
