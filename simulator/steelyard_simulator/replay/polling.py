"""Engine metrics on their way to the routers: sampled in a rhythm, seen later.

Each router polls all instances that are ready, from a random moment of its first interval on. A
system whose engines push their state reads it before each placement instead; where metrics are
late, it polls every FRESH_S.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final

from steelyard_simulator.replay.agenda import Agenda, Rank
from steelyard_simulator.replay.instance import Instance
from steelyard_simulator.replay.policy import Polled
from steelyard_simulator.replay.view import RouterView

FRESH_S: Final = 0.1

Row = tuple[str, Polled]


class Polling:
    """`settle` brings an instance up to a time; `ready` is the fleet's own and changes with it."""

    def __init__(
        self,
        agenda: Agenda,
        ready: Mapping[str, Instance],
        settle: Callable[[Instance, float], None],
        *,
        interval_s: float,
        delay_s: float,
    ) -> None:
        self._agenda = agenda
        self._ready = ready
        self._settle = settle
        self._interval_s = interval_s
        self._delay_s = delay_s

    def start(self, views: Iterable[RouterView], rng: Random) -> None:
        for view in views:
            if (interval_s := self._interval(view)) > 0:
                first_s = rng.random() * interval_s
                self._agenda.add(first_s, Rank.METRICS, partial(self._poll, view, interval_s))

    def refresh(self, view: RouterView, now: float) -> None:
        """Before a placement: what is fresh, if this router's policy sees it so."""
        if self._interval(view) == 0:
            self._deliver(view, self._sample(now), now)

    def _interval(self, view: RouterView) -> float:
        wanted = view.policy.poll_interval_s
        interval_s = self._interval_s if wanted is None else wanted
        return FRESH_S if interval_s == 0 and self._delay_s > 0 else interval_s

    def _poll(self, view: RouterView, interval_s: float, now: float) -> None:
        self._agenda.add(now + interval_s, Rank.METRICS, partial(self._poll, view, interval_s))
        rows = self._sample(now)
        if self._delay_s:
            seen = partial(self._deliver, view, rows)
            self._agenda.add(now + self._delay_s, Rank.METRICS, seen)
        else:
            self._deliver(view, rows, now)

    def _sample(self, now: float) -> list[Row]:
        for instance in self._ready.values():
            self._settle(instance, now)
        return [(name, instance.metrics(now)) for name, instance in self._ready.items()]

    def _deliver(self, view: RouterView, rows: Sequence[Row], now: float) -> None:
        for name, metrics in rows:
            if name in self._ready:
                view.polled(name, metrics, now)
