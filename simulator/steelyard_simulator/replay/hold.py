"""What one router holds: requests that it has taken and placed nowhere yet.

Its policy is asked what may go once for each instant at which it was told anything, last of all
that happens then, and again when it said so. A client waits for PATIENCE_S and no longer, so that
every request ends even where a policy forgets one.
"""

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final, Protocol

from steelyard_simulator.replay.agenda import Agenda, Rank
from steelyard_simulator.replay.instance import Stream
from steelyard_simulator.replay.policy import HoldingPolicy

PATIENCE_S: Final = 3600.0
TICK_S: Final = 1e-3
"""A policy is not asked again sooner where nothing happens: time must go on."""


class Drop(Protocol):
    """Ends a stream that was held and goes nowhere."""

    def __call__(self, stream: Stream, now: float, *, rejected: bool) -> None: ...


class Hold:
    """`look` tells the policy what it can see by now; `submit` and `drop` are the fleet's."""

    def __init__(
        self,
        policy: HoldingPolicy,
        agenda: Agenda,
        *,
        look: Callable[[float], None],
        submit: Callable[[Stream, str, float], None],
        drop: Drop,
    ) -> None:
        self._policy = policy
        self._agenda = agenda
        self._look = look
        self._submit = submit
        self._drop = drop
        self._streams: dict[int, Stream] = {}
        self._due_s = inf
        """When the policy is asked next;"""
        self._timer_s = inf
        """for which time a timer was set last."""

    def stir(self, now: float) -> None:
        """The policy was told something."""
        if self._due_s != now:
            self._due_s = now
            self._agenda.add(now, Rank.DISPATCH, self._ask)

    def take(self, stream: Stream, now: float) -> None:
        stream.held_at = now
        self._streams[stream.arrival.id] = stream
        self._agenda.add(now + PATIENCE_S, Rank.DISPATCH, partial(self._give_up, stream, now))

    def _ask(self, now: float) -> None:
        if now != self._due_s:
            return
        self._look(now)
        self._due_s = inf
        for arrival_id, instance in self._policy.dispatch(now):
            stream = self._release(arrival_id, now)
            if instance is None:
                self._drop(stream, now, rejected=True)
            else:
                self._submit(stream, instance, now)
        self._wind(now)

    def _wind(self, now: float) -> None:
        next_s = self._policy.next_s
        if next_s is None:
            return
        due_s = max(next_s, now + TICK_S)
        if due_s >= self._due_s:
            return
        self._due_s = due_s
        if due_s != self._timer_s:
            self._timer_s = due_s
            self._agenda.add(due_s, Rank.DISPATCH, self._ask)

    def _release(self, arrival_id: int, now: float) -> Stream:
        stream = self._streams.pop(arrival_id)
        assert stream.held_at is not None
        stream.wait_s += now - stream.held_at
        stream.held_at = None
        return stream

    def _give_up(self, stream: Stream, held_at: float, now: float) -> None:
        if stream.held_at == held_at:
            self._release(stream.arrival.id, now)
            stream.view.failed(stream.arrival, now)
            self._drop(stream, now, rejected=False)
