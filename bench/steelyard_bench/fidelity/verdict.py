"""What the study has to show, read from its document. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from steelyard_bench.bar import Bar

WITHIN: Final = 0.2
"""Of the mean time to the first token."""

Policies = Sequence[Mapping[str, Any]]


def bars(document: Mapping[str, Any]) -> Iterator[Bar]:
    yield from _of(document["real"]["policies"], "real engines")
    yield from _of(document["modelled"]["policies"], "simulated engines")


def off(policy: Mapping[str, Any], figure: str) -> float:
    """How far the simulation is from what was measured, as a share of that."""
    live = float(policy["live"][figure])
    return float(policy["simulated"][figure]) / live - 1 if live else 0.0


def order(policies: Policies, side: str, figure: str = "ttft_ms") -> list[str]:
    """The best first; `side` is live or simulated."""
    return [one["policy"] for one in sorted(policies, key=lambda one: one[side][figure])]


def _of(policies: Policies, where: str) -> Iterator[Bar]:
    live, simulated = order(policies, "live"), order(policies, "simulated")
    told = " < ".join(live)
    yield Bar(
        f"{where}: the policies are in the same order by TTFT mean",
        told if live == simulated else f"{told}; simulated {' < '.join(simulated)}",
        live == simulated,
    )
    worst = max(policies, key=lambda one: abs(off(one, "ttft_ms")))
    share = off(worst, "ttft_ms")
    yield Bar(
        f"{where}: TTFT mean within {100 * WITHIN:.0f} %",
        f"at worst {worst['policy']} {100 * share:+.1f} %",
        abs(share) <= WITHIN,
    )
