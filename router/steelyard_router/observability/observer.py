"""Counts what happens to requests: told once of every request that ends, asked by scrapes.

Counting costs a few microseconds: plain integers here, a few windowed histograms (alerts/window),
and no metric object before somebody scrapes. Names that requests bring never become labels: a
workload counts under its own name while it is configured and for LINGER_S after, so that a last
scrape sees its end; everything else counts as OTHER.

A request that ends is only noted. What is noted is counted in one go, when it makes a batch or
before anybody reads: a loop over many runs in warm caches and takes half the time of as many single
calls. So readers come through the observer, to the windows too, and miss no request.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf

from steelyard_router.alerts.exchange import Measured
from steelyard_router.alerts.window import Windows
from steelyard_router.config import RouterConfig, Targets
from steelyard_router.observability.accuracy import Accuracy
from steelyard_router.observability.decision import DecisionLog
from steelyard_router.observability.drift import DriftBook
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.promise import attainment, feed
from steelyard_router.observability.recorder import Recorder
from steelyard_router.observability.series import (
    OTHER,
    OVERHEAD_BOUNDS_S,
    QUEUE_BOUNDS_S,
    SCORE_BOUNDS,
    Buckets,
    SeriesTable,
)
from steelyard_router.observability.shadow import ShadowBook
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Decision

LINGER_S = 300.0
"""How long a removed workload stays in the export."""
MAX_LINGERING = 32
MAX_REASONS = 16
BATCH = 64
"""Requests that are noted before they are counted: under a millisecond's work."""

log = logging.getLogger("steelyard.router")


@dataclass(slots=True)
class WorkloadBook:
    """What is counted for one workload, whatever the instance."""

    targets: Targets
    removed_at: float | None = None
    """When a reload removed it; None while configured; infinity for OTHER, which never goes."""
    requests: int = 0
    queue: Buckets = field(default_factory=lambda: Buckets(QUEUE_BOUNDS_S))
    score: Buckets = field(default_factory=lambda: Buckets(SCORE_BOUNDS))
    accuracy: Accuracy = field(default_factory=Accuracy)

    def add(self, outcome: Outcome, now: float) -> None:
        self.requests += 1
        self.queue.add(outcome.queue_s)
        if outcome.score is not None:
            self.score.add(outcome.score)
        self.accuracy.add(outcome, now)


class Observer:
    """The counts of one router process. `now` is the router's steady clock in seconds."""

    def __init__(
        self,
        config: RouterConfig,
        windows: Windows,
        now: float,
        recorder: Recorder | None = None,
    ) -> None:
        self.started = now
        self.decisions = DecisionLog(config.debug.decisions)
        self.recorder = recorder or Recorder()
        self.recorder.update(config.debug)
        self._windows = windows
        self._policy = config.policy
        self._series = SeriesTable()
        self._overhead = Buckets(OVERHEAD_BOUNDS_S)
        self._drift = DriftBook(now)
        self._noted: list[tuple[Outcome, float]] = []
        self.retries: dict[str, int] = {}
        self.reloads = {"ok": 0, "error": 0}
        self._books: dict[str, WorkloadBook] = {}
        self._shadow = ShadowBook.of(config, now, None)
        self._configure(config, now)

    def finished(self, outcome: Outcome, now: float) -> None:
        """Count a request that has ended, however it did. Call it exactly once for each, and leave
        the outcome alone after.
        """
        self._noted.append((outcome, now))
        if outcome.asked is not None:
            asked, outcome.asked = outcome.asked, None
            self.recorder.ended(outcome, asked)
        if len(self._noted) >= BATCH:
            self._count()

    @property
    def windows(self) -> Windows:
        """What alerts judge and /status shows."""
        self._count()
        return self._windows

    def measured(self, now: float) -> Measured:
        """What this replica has to add to what alerts judge."""
        return Measured.of(self._policy, self.windows, now)

    @property
    def drift(self) -> DriftBook:
        """Whether predictions still fit."""
        self._count()
        return self._drift

    def judge_drift(self, paces: Mapping[str, float], now: float) -> None:
        """To be called every second or so; `paces` are the instances' (Scheduler.paces)."""
        for state in self.drift.judge(paces, now):
            if state.drifting:
                log.warning("predictions drift (%s): %s", state.monitor, "; ".join(state.what))
            else:
                log.info("predictions drift no more (%s)", state.monitor)

    @property
    def shadow(self) -> ShadowBook | None:
        """The policy on trial, if there is one."""
        self._count()
        return self._shadow

    @property
    def series(self) -> SeriesTable:
        """What is counted by workload and instance."""
        self._count()
        return self._series

    @property
    def overhead(self) -> Buckets:
        """The router's own share of the time to the first upstream byte."""
        self._count()
        return self._overhead

    def retried(self, reason: str) -> None:
        """Count one retry; beyond MAX_REASONS different reasons, the reason is OTHER."""
        if reason not in self.retries and len(self.retries) >= MAX_REASONS:
            reason = OTHER
        self.retries[reason] = self.retries.get(reason, 0) + 1

    @property
    def explains(self) -> bool:
        """Whether decisions are kept, so that the scheduler should list every candidate's terms."""
        return self.decisions.size > 0

    def decided(self, request_id: str, view: RequestView, decision: Decision, now: float) -> None:
        """Keep a decision for /debug/decisions; nothing while debug.decisions is 0."""
        if self.decisions.size:
            self.decisions.record(request_id, view, decision, now)

    def update(self, config: RouterConfig, now: float) -> None:
        """Follow a configuration that has been swapped in, the windows with it."""
        self.reloads["ok"] += 1
        self._count()  # under the targets that held so far
        self.decisions.resize(config.debug.decisions)
        self.recorder.update(config.debug)
        self._windows.replace(config.policy)
        self._policy = config.policy
        self._shadow = ShadowBook.of(config, now, self._shadow)
        self._configure(config, now)

    def reload_failed(self) -> None:
        """Count a configuration that was refused; the last good one stays."""
        self.reloads["error"] += 1

    def tidy(self, instances: Collection[str], now: float) -> None:
        """Forget instances other than these, and workloads removed more than LINGER_S ago."""
        self.series.keep(instances)
        for name, book in list(self._books.items()):
            if book.removed_at is not None and now - book.removed_at > LINGER_S:
                del self._books[name]
                self._series.drop_workload(name)
        self._drift.keep(self._books)

    def workloads(self) -> list[tuple[str, WorkloadBook]]:
        """Configured ones in their order, then those removed of late; OTHER only if it has any."""
        self._count()
        books = [
            (name, book) for name, book in self._books.items() if name != OTHER or book.requests
        ]
        return sorted(books, key=lambda item: item[1].removed_at is not None)

    def _configure(self, config: RouterConfig, now: float) -> None:
        before, self._books = self._books, {}
        for workload in config.policy.workloads:
            book = before.pop(workload.name, None) or WorkloadBook(workload.slo)
            book.targets, book.removed_at = workload.slo, None
            self._books[workload.name] = book
        before.setdefault(OTHER, WorkloadBook(Targets()))
        for name, book in before.items():
            if book.removed_at is None:
                book.removed_at = inf if name == OTHER else now
        newest = sorted(before.items(), key=lambda item: item[1].removed_at or 0.0)
        for name, _ in newest[:-MAX_LINGERING]:
            self._series.drop_workload(name)
        self._books.update(newest[-MAX_LINGERING:])

    def _count(self) -> None:
        """Count what is noted."""
        noted, self._noted = self._noted, []
        for outcome, now in noted:
            name = outcome.workload
            book = self._books.get(name)
            if book is None:
                name, book = OTHER, self._books[OTHER]
            book.add(outcome, now)
            self._drift.add(name, outcome, now)
            self._series.get(name, outcome.instance).add(outcome)
            if outcome.attempts:
                self._overhead.add(outcome.overhead_s)
            if book.removed_at is None:
                held = attainment(outcome, book.targets)
                feed(self._windows, name, outcome, held=held, now=now)
            if self._shadow is not None:
                self._shadow.add(outcome, now)
