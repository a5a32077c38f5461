"""Requests that were too dear just now (price.py), which decide for others like them.

Others that are no shorter, and may go to the same instances by the same strategy, are too dear as
well. That leaves out that part of a prompt may be cached. Without it each of many that wait would
cost a decision whenever something ends. Holds for one moment only.
"""

from collections.abc import Hashable

from steelyard_router.scheduling.objective import output_tokens
from steelyard_router.scheduling.price import gain
from steelyard_router.scheduling.waiting import Ask


class Precedents:
    """Lengths of those that were refused, by what else a refusal depends on."""

    def __init__(self) -> None:
        self._lengths: dict[Hashable, list[tuple[int, float]]] = {}

    def add(self, ask: Ask) -> None:
        self._lengths.setdefault(_kind(ask), []).append(_length(ask))

    def __contains__(self, ask: Ask) -> bool:
        if not self._lengths:
            return False
        prompt, out = _length(ask)
        refused = self._lengths.get(_kind(ask), ())
        return any(prompt >= tokens and out >= replied for tokens, replied in refused)


def _length(ask: Ask) -> tuple[int, float]:
    return ask.request.prompt_tokens, output_tokens(ask.request)


def _kind(ask: Ask) -> Hashable:
    request = ask.request
    where = ask.among, frozenset(ask.exclude), ask.max_p_tokens
    return id(ask.strategy), where, request.priority, request.sequences, gain(request)
