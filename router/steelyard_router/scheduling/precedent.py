"""Requests that were too dear just now (price.py), which decide for others like them.

Others that are no shorter, and may go to the same instances by the same strategy, are too dear as
well. Without this, each of many that wait would cost a decision whenever something ends. It leaves
out that part of a prompt may be cached, so one of so many is looked at itself, each time others.
Holds for one moment only.
"""

from collections.abc import Hashable
from typing import Final

from steelyard_router.scheduling.objective import output_tokens
from steelyard_router.scheduling.price import gain
from steelyard_router.scheduling.waiting import Ask

LOOKED_AT: Final = 16
"""One of so many for which another decides."""


class Precedents:
    """Lengths of those that were refused, by what else a refusal depends on. `number` is the
    moment's.
    """

    def __init__(self, number: int = 0) -> None:
        self._lengths: dict[Hashable, list[tuple[int, float]]] = {}
        self._alike = number

    def add(self, ask: Ask) -> None:
        self._lengths.setdefault(_kind(ask), []).append(_length(ask))

    def decide(self, ask: Ask) -> bool:
        """Whether it need not be looked at itself."""
        if not self._covers(ask):
            return False
        self._alike += 1
        return self._alike % LOOKED_AT != 0

    def _covers(self, ask: Ask) -> bool:
        if not self._lengths:
            return False
        prompt, out = _length(ask)
        refused = self._lengths.get(_kind(ask), ())
        return any(prompt >= tokens and out >= replied for tokens, replied in refused)


def _length(ask: Ask) -> tuple[int, float]:
    return ask.request.prompt_tokens, output_tokens(ask.request)


def _kind(ask: Ask) -> Hashable:
    request, where = ask.request, (ask.among, tuple(ask.exclude), ask.max_p_tokens)
    return id(ask.strategy), where, request.priority, request.sequences, gain(request)
