"""Moves the engine model along real time and tells waiting handlers what came out.

One timer, and none while the engine is idle. It is set for whichever comes first: the next change
in the engine (a first token, an end, the end of a prefill step), which is told at once, or the next
time that streams are due for a chunk. So at a high speed many steps are taken per tick, and a chunk
carries the tokens of all of them. Handlers are woken only if there is something for them to send.
"""

import asyncio
from collections.abc import Callable, Iterable
from math import isinf

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import Event, EventKind, Job
from steelyard_simulator.server.clock import ScaledClock

TIMER_GRAIN_S = 0.001
"""uvloop's timers count whole milliseconds and round down by up to a half; half a grain more makes
sure that what a timer was set for is due when it fires."""


class Ticket:
    """One job under way. Times are engine seconds."""

    __slots__ = ("cached_tokens", "finished_s", "first_token_s", "generated", "group", "job")

    def __init__(self, job: Job, group: "Group") -> None:
        self.job = job
        self.group = group
        self.generated = 0
        self.cached_tokens = 0
        self.first_token_s: float | None = None
        self.finished_s: float | None = None


class Group:
    """The jobs of one HTTP request."""

    __slots__ = ("_news", "pending", "streams", "submitted_s", "tickets")

    def __init__(self, jobs: Iterable[Job], submitted_s: float, *, streams: bool) -> None:
        self.tickets = [Ticket(job, self) for job in jobs]
        self.pending = len(self.tickets)
        self.submitted_s = submitted_s
        self.streams = streams
        self._news = asyncio.Event()

    async def news(self) -> None:
        """Waits for new tokens (streams) or for the end of all jobs. The client's patience bounds
        it: when the connection closes, the handler is cancelled."""
        await self._news.wait()
        self._news.clear()

    def wake(self) -> None:
        if self.streams or not self.pending:
            self._news.set()


class Driver:
    """Owns the engine's time: nothing else calls the engine's timed methods."""

    def __init__(
        self,
        engine: Engine,
        clock: ScaledClock,
        *,
        wall: Callable[[], float],
        tick_s: float,
    ) -> None:
        self.engine = engine
        self._clock = clock
        self._wall = wall
        self._tick_s = tick_s
        self._tickets: dict[str, Ticket] = {}
        self._streams = 0
        self._flushed_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._count = 0

    def next_id(self) -> str:
        """A job id of its own for each sequence; clients may repeat their request ids."""
        self._count += 1
        return str(self._count)

    def start(self, jobs: Iterable[Job], *, streams: bool) -> Group:
        """Submits the jobs of one request; the caller has checked that each fits the profile."""
        now = self._clock.now()
        group = Group(jobs, now, streams=streams)
        self._advance(now)
        for ticket in group.tickets:
            self.engine.submit(ticket.job, now)
            self._tickets[ticket.job.id] = ticket
            self._streams += streams
        self._plan()
        return group

    def drop(self, group: Group) -> None:
        """Aborts what still runs of a request; the handler calls it in `finally`."""
        if not group.pending:
            return
        now = self._clock.now()
        self._advance(now)
        for ticket in group.tickets:
            if self._tickets.pop(ticket.job.id, None) is not None:
                self.engine.abort(ticket.job.id, now)
                group.pending -= 1
                self._streams -= group.streams
        self._plan()

    def refresh(self) -> None:
        """Brings the engine's counters up to now."""
        self._advance(self._clock.now())

    def set_speed(self, speed: float) -> None:
        """Changes the clock's pace; 0 stops the engine where it is."""
        self._clock.set_speed(speed)
        self.refresh()
        self._plan()

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        self._advance(self._clock.now())
        wall = self._wall()
        if self._streams and wall >= self._flushed_at + self._tick_s:
            self._flushed_at = wall
            self._flush()
        self._plan()

    def _advance(self, now: float) -> None:
        for event in self.engine.advance(now):
            self._take(event)

    def _take(self, event: Event) -> None:
        ticket = self._tickets.get(event.job.id)
        if ticket is None or event.kind is EventKind.PREEMPTED:
            return
        ticket.generated = event.generated
        ticket.cached_tokens = event.cached_tokens
        if event.kind is EventKind.FIRST_TOKEN:
            ticket.first_token_s = event.at_s
        else:
            ticket.finished_s = event.at_s
            del self._tickets[event.job.id]
            ticket.group.pending -= 1
            self._streams -= ticket.group.streams
        ticket.group.wake()

    def _flush(self) -> None:
        generated = self.engine.generated
        for ticket in self._tickets.values():
            if ticket.group.streams and (count := generated(ticket.job.id)) > ticket.generated:
                ticket.generated = count
                ticket.group.wake()

    def _plan(self) -> None:
        change, step = self.engine.next_change_s, self.engine.next_step_s
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if change is None or step is None:
            return
        delay = self._clock.wall_until(change)
        if self._streams:
            flush = self._flushed_at + self._tick_s - self._wall()
            delay = min(delay, max(flush, self._clock.wall_until(step)))
        if not isinf(delay):
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(delay, 0.0) + TIMER_GRAIN_S / 2, self._tick)
