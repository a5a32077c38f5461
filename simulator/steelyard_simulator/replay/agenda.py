"""What is to happen when: the one heap of a fleet.

Time never goes back. At one time, engines come first, then changes of the fleet, then metrics, then
arrivals, then what routers have held, so that nobody decides on a state that is already past.
"""

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count

Action = Callable[[float], None]


class Rank(IntEnum):
    """Who comes first at one time."""

    ENGINE = 0
    CHANGE = 1
    METRICS = 2
    ARRIVAL = 3
    DISPATCH = 4


class Agenda:
    """Actions are called with their time, and may add others from then on."""

    __slots__ = ("_heap", "_order")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Action]] = []
        self._order = count()

    def add(self, at_s: float, rank: Rank, action: Action) -> None:
        heappush(self._heap, (at_s, rank, next(self._order), action))

    def run(self, wanted: Callable[[], bool]) -> None:
        """One after the other, while there are any and more is wanted."""
        heap = self._heap
        while heap and wanted():
            at_s, _, _, action = heappop(heap)
            action(at_s)
