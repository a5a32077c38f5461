"""Which request of a trace comes when: by its own time, or when the reply it waits for is read.

Open loop: every request at its time, whatever became of those before it. Closed loop: a request
follows the reply before it in its session, after the client's think time. A session begins at its
own time, or, where `users` are given, when one of so many users has ended the last one.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from steelyard_simulator.load.trace import TraceRequest

Due = tuple[float, int]
"""A time and the number of a request."""


class Source(Protocol):
    """Tells the fleet what comes when."""

    def first(self) -> Iterator[Due]:
        """What comes whatever happens."""
        ...

    def after(self, number: int, now: float) -> Iterator[Due]:
        """What comes because that request is over, well or not."""
        ...


class OpenLoop:
    """By the trace's times."""

    def __init__(self, requests: Sequence[TraceRequest]) -> None:
        self._requests = requests

    def first(self) -> Iterator[Due]:
        return ((request.at_s, number) for number, request in enumerate(self._requests))

    def after(self, number: int, now: float) -> Iterator[Due]:
        del number, now
        return iter(())


class ClosedLoop:
    """By sessions with think time. A request follows an earlier one of the sequence."""

    def __init__(self, requests: Sequence[TraceRequest], *, users: int | None = None) -> None:
        self._requests = requests
        self._users = users
        self._followers: dict[int, list[int]] = {}
        self._root: list[int] = []
        self._open: dict[int, int] = {}
        """Requests to come in a session, by its first one."""
        for number, request in enumerate(requests):
            before = request.follows
            root = number if before is None else self._root[before]
            self._root.append(root)
            self._open[root] = self._open.get(root, 0) + 1
            if before is not None:
                self._followers.setdefault(before, []).append(number)
        self._waiting = iter(list(self._open))

    def first(self) -> Iterator[Due]:
        if self._users is None:
            for number in self._waiting:
                yield self._requests[number].at_s, number
            return
        for _, number in zip(range(self._users), self._waiting, strict=False):
            yield 0.0, number

    def after(self, number: int, now: float) -> Iterator[Due]:
        for follower in self._followers.get(number, ()):
            yield now + self._requests[follower].think_s, follower
        root = self._root[number]
        self._open[root] -= 1
        if self._users is not None and not self._open[root]:
            for following in self._waiting:
                yield now, following
                return
