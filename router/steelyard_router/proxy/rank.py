"""The order of the line, handed on to engines that schedule by priority.

vLLM started with `--scheduling-policy priority` reads a header: of two requests that wait, the one
with the smaller number goes first, and the larger one is preempted first. An engine that serves in
order of arrival does not look at it. What a client sends under that name never gets there, since it
would let anybody go first.
"""

from typing import Final

from steelyard_router.scheduling.request import RequestView

HEADER: Final = b"X-Vllm-Priority"
NAME: Final = HEADER.lower()
CLASSES: Final = 2**15
"""Priorities beyond are taken for this one, so that a rank has 64 bits;"""
SPAN_MS: Final = 2**44
"""a class is as far from the next as any two deadlines can be."""
NO_TARGET_MS: Final = 60_000.0
"""After its arrival a request is due that has no target in time."""


def rank(request: RequestView, arrived_ms: float) -> int:
    """By class, then by deadline. `arrived_ms` is Unix time, so that the ranks that several routers
    give are one order.
    """
    slo = request.slo
    targets_s = [each for each in (slo.ttft_s, slo.e2e_s) if each is not None]
    due_ms = arrived_ms + (1000 * min(targets_s) if targets_s else NO_TARGET_MS)
    priority = max(-CLASSES, min(CLASSES, request.priority))
    return -priority * SPAN_MS + round(due_ms)


def line(request: RequestView, arrived_ms: float) -> bytes:
    """The header, with its end."""
    return b"%b: %d\r\n" % (HEADER, rank(request, arrived_ms))
