"""Who may go now, who waits, and who is told to come back later.

A request holds one slot of `limits.concurrent` and one of its workload's `max_concurrent` from
admission until `Ticket.release`. When there is none, it waits in a queue bounded by `limits.queue`
and by `limits.queue_wait_s`. The order is the workload's priority, then arrival; a workload at its
own limit does not hold up the others. What holds after every call: no waiter is left waiting who
could go. So a newcomer that finds room overtakes nobody who could have used it.

A wait that ends by cancellation or by time leaves no slot behind, even when it had just been
granted.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from steelyard_router import config
from steelyard_router.errors import Overloaded

RATE_SAMPLES = 64
"""Releases over which the service rate is observed."""

RETRY_AFTER_MAX_S = 60.0


class Ticket:
    """Slots held by one request."""

    __slots__ = ("_give_back", "_line")

    def __init__(self, line: "_Line", give_back: "Callable[[_Line], None]") -> None:
        self._line: _Line | None = line
        self._give_back = give_back

    def release(self) -> None:
        """Give the slots back. Safe to call more than once."""
        line, self._line = self._line, None
        if line is not None:
            self._give_back(line)


@dataclass(slots=True, eq=False)
class _Line:
    """One workload: what runs, and who waits, first come first."""

    workload: config.Workload
    running: int = 0
    waiters: OrderedDict[int, asyncio.Future[Ticket]] = field(default_factory=OrderedDict)

    @property
    def has_room(self) -> bool:
        most = self.workload.max_concurrent
        return most is None or self.running < most


class Admission:
    """The slots, the queue, and the estimate for Retry-After."""

    def __init__(
        self, limits: config.Limits, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._arrivals = 0
        self._released_at: deque[float] = deque(maxlen=RATE_SAMPLES)
        self.running = 0
        self.waiting = 0

    def try_enter(self, workload: config.Workload) -> Ticket | None:
        """A ticket at once, or None when the request would have to wait."""
        line = self._line(workload)
        most = workload.max_concurrent
        if self.running >= self._limits.concurrent or (most is not None and line.running >= most):
            return None
        return self._take(line)

    async def enter(self, workload: config.Workload) -> Ticket:
        """A ticket, after at most `queue_wait_s`; Overloaded when the queue is full or time is
        over.
        """
        if (ticket := self.try_enter(workload)) is not None:
            return ticket
        if self.waiting >= self._limits.queue:
            raise self.overloaded(f"the queue of {self._limits.queue} requests is full")
        line = self._line(workload)
        self._arrivals = number = self._arrivals + 1
        loop = asyncio.get_running_loop()
        granted: asyncio.Future[Ticket] = loop.create_future()
        line.waiters[number] = granted
        self.waiting += 1
        timer = loop.call_later(self._limits.queue_wait_s, self._expire, line, number)
        try:
            return await granted
        except asyncio.CancelledError:
            self._abandon(line, number, granted)
            raise
        finally:
            timer.cancel()

    def update(self, limits: config.Limits, workloads: Iterable[config.Workload] = ()) -> None:
        """Put new limits in force, for those who wait too. What runs beyond them is left to end."""
        self._limits = limits
        self._lines = {n: line for n, line in self._lines.items() if line.running or line.waiters}
        for workload in workloads:
            if workload.name in self._lines:
                self._lines[workload.name].workload = workload
        self._admit()

    def overloaded(self, reason: str) -> Overloaded:
        after_s = self.retry_after_s()
        return Overloaded(
            f"The service is at its limit: {reason}. Try again in {after_s:.0f} s, or send fewer "
            "requests at once.",
            retry_after_s=after_s,
        )

    def retry_after_s(self) -> float:
        """When the queue of now will have been served at the rate of now, at least 1 s."""
        seen, now = self._released_at, self._clock()
        while seen and seen[0] < now - RETRY_AFTER_MAX_S:
            seen.popleft()  # a quiet hour before says nothing about the rate of now
        after_s = self._limits.queue_wait_s
        if seen:
            after_s = (self.waiting + 1) * (now - seen[0]) / len(seen)
        return min(max(1.0, after_s), RETRY_AFTER_MAX_S)

    def running_of(self, workload: str) -> int:
        line = self._lines.get(workload)
        return line.running if line else 0

    def waiting_of(self, workload: str) -> int:
        line = self._lines.get(workload)
        return len(line.waiters) if line else 0

    def _line(self, workload: config.Workload) -> _Line:
        line = self._lines.get(workload.name)
        if line is None:
            line = self._lines[workload.name] = _Line(workload)
        line.workload = workload  # a reload may have changed its limit and its priority
        return line

    def _take(self, line: _Line) -> Ticket:
        self.running += 1
        line.running += 1
        return Ticket(line, self._give_back)

    def _give_back(self, line: _Line) -> None:
        self.running -= 1
        line.running -= 1
        self._released_at.append(self._clock())
        if self.waiting:
            self._admit()

    def _admit(self) -> None:
        """Let in everyone who can go."""
        while self.waiting and self.running < self._limits.concurrent:
            ready = [line for line in self._lines.values() if line.waiters and line.has_room]
            if not ready:
                return
            line = min(ready, key=lambda ln: (-ln.workload.priority, next(iter(ln.waiters))))
            _, granted = line.waiters.popitem(last=False)
            self.waiting -= 1
            if not granted.done():
                granted.set_result(self._take(line))

    def _expire(self, line: _Line, number: int) -> None:
        granted = line.waiters.pop(number, None)
        if granted is None:
            return
        self.waiting -= 1
        if not granted.done():
            wait_s = self._limits.queue_wait_s
            granted.set_exception(self.overloaded(f"waited {wait_s:g} s in the queue"))

    def _abandon(self, line: _Line, number: int, granted: asyncio.Future[Ticket]) -> None:
        """The waiter was cancelled: leave the queue, or give back what was granted meanwhile."""
        if line.waiters.pop(number, None) is not None:
            self.waiting -= 1
        elif not granted.cancelled() and granted.exception() is None:
            granted.result().release()
