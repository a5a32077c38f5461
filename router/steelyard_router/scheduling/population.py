"""The workloads that have been placed: what their requests are worth and how long they answer.

Kept per workload, as moving means over its requests, and not per request: a decision then costs a
pass over the candidates for each workload, and clients that send targets of their own make no
classes of their own. Policies name the workloads, so there are few.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from steelyard_router.scheduling.objective import Rates, output_tokens
from steelyard_router.scheduling.request import RequestView

GAIN: Final = 1 / 32
KEPT: Final = 256
"""Names remembered; those of earlier policies go first."""


class Kind:
    """A workload's requests on the average."""

    __slots__ = ("output_tokens", "tpot_rate")

    def __init__(self, tpot_rate: float, output_tokens: float) -> None:
        self.tpot_rate = tpot_rate
        self.output_tokens = output_tokens


class Population:
    """Kinds by workload name."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[str, Kind] = OrderedDict()

    def __iter__(self) -> Iterator[tuple[str, Kind]]:
        return iter(self._kinds.items())

    def learn(self, request: RequestView) -> None:
        """A request has been placed."""
        rate, tokens = Rates.of(request).tpot, output_tokens(request)
        kind = self._kinds.get(request.workload)
        if kind is not None:
            kind.tpot_rate += (rate - kind.tpot_rate) * GAIN
            kind.output_tokens += (tokens - kind.output_tokens) * GAIN
            return
        if len(self._kinds) >= KEPT:
            self._kinds.popitem(last=False)
        self._kinds[request.workload] = Kind(rate, tokens)
