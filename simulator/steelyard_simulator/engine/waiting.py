"""The engine's waiting queue: by priority, then in order of arrival; a preempted sequence keeps its
place."""

from heapq import heappop, heappush

from steelyard_simulator.engine.job import Phase, Sequence


class WaitingQueue:
    """A heap; what is taken out of the middle is skipped when it comes to the front."""

    __slots__ = ("_heap", "_size")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Sequence]] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, sequence: Sequence) -> None:
        sequence.phase = Phase.WAITING
        heappush(self._heap, (*sequence.rank, sequence))
        self._size += 1

    def head(self) -> Sequence | None:
        while self._heap and self._heap[0][2].phase is Phase.GONE:
            heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def pop(self) -> None:
        """Takes out the head; call head() first."""
        heappop(self._heap)
        self._size -= 1

    def discard(self, sequence: Sequence) -> None:
        """Takes out a waiting sequence for good."""
        sequence.phase = Phase.GONE
        self._size -= 1
