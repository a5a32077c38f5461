"""The work queue: each key at most once, one run at a time per key, a few workers.

    add -> due -> a free worker -> run -> forgotten | due again (added meanwhile, failed, or asked)

What stays true: after `add(key, after_s)` a run of that key starts, not before the call and, with a
worker free, not later than `after_s` from it. Adding a key that is due already moves it earlier,
never later; adding one that runs makes it run once more. So work is never lost and never doubled.

A run that fails is tried again after a back-off of its key's own; other keys do not wait for it.
"""

import asyncio
import heapq
import logging
import math
import random
from collections.abc import Awaitable, Callable
from typing import Protocol

from .backoff import delay_s
from .key import ObjectKey

Handler = Callable[[ObjectKey], Awaitable[float | None]]
"""Does the work; says after how many seconds to look again (None: when something happens)."""

TICK_S = 0.001
"""What is due within that is due: timers are no finer."""

log = logging.getLogger(__name__)


class RetryError(Exception):
    """Work that has to be done again and whose reason is known: no stack trace is of use."""


class QueueObserver(Protocol):
    """Hears what the queue does."""

    def depth(self, waiting: int) -> None: ...

    def waited(self, kind: str, seconds: float) -> None: ...

    def ran(self, kind: str, seconds: float, result: str) -> None: ...


class WorkQueue:
    """Start it, add keys, stop it."""

    def __init__(
        self,
        handler: Handler,
        *,
        rng: random.Random,
        observer: QueueObserver,
        run_timeout_s: float = 60.0,
    ) -> None:
        self._handler = handler
        self._rng = rng
        self._observer = observer
        self._run_timeout_s = run_timeout_s
        self._due: dict[ObjectKey, float] = {}
        """When each waiting key is to run: the truth. The heap may hold outdated entries."""
        self._heap: list[tuple[float, int, ObjectKey]] = []
        self._pushed = 0
        self._started: dict[ObjectKey, float] = {}
        self._began_at = -math.inf
        """When a run began last."""
        self._failures: dict[ObjectKey, int] = {}
        self._changed = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._stopping = False

    def start(self, workers: int) -> None:
        self._workers = [
            asyncio.create_task(self._work(), name=f"worker {number}") for number in range(workers)
        ]

    async def stop(self, grace_s: float) -> None:
        """Takes no more work; lets what runs finish for `grace_s`, then cancels it."""
        self._stopping = True
        self._changed.set()
        if self._workers:
            _, late = await asyncio.wait(self._workers, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def add(self, key: ObjectKey, after_s: float = 0.0) -> None:
        """Has `key` run, at the latest `after_s` seconds from now."""
        due = _now() + after_s
        if key in self._due and self._due[key] <= due:
            return
        self._due[key] = due
        if key not in self._started:
            self._push(key)
        self._observer.depth(len(self._due))

    @property
    def alive(self) -> bool:
        """All workers are at work: none has died."""
        return bool(self._workers) and not any(task.done() for task in self._workers)

    def stuck(self, limit_s: float) -> tuple[ObjectKey, ...]:
        """Keys that have been running for longer than `limit_s`, and, if no run has begun in that
        time, those that wait. A long queue that moves is busy, not stuck.
        """
        before = _now() - limit_s
        running = [key for key, started in self._started.items() if started < before]
        moves = self._began_at > before
        overdue = [key for key, due in self._due.items() if due < before and not moves]
        return tuple(sorted({*running, *overdue}))

    def __len__(self) -> int:
        return len(self._due)

    # -- workers ----------------------------------------------------------------------------------

    async def _work(self) -> None:
        while not self._stopping:
            wait_s = self._wait_s()
            if wait_s is not None and wait_s <= TICK_S:
                await self._run(self._pop())
                continue
            self._changed.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _run(self, key: ObjectKey) -> None:
        started = self._started[key] = self._began_at = _now()
        result = "ok"
        try:
            async with asyncio.timeout(self._run_timeout_s):
                again_s = await self._handler(key)
            self._failures.pop(key, None)
        except Exception as error:  # noqa: BLE001 (a supervisor: whatever it was, it is tried again)
            result = "failed"
            again_s = self._failed(key, error)
        finally:
            del self._started[key]
            if key in self._due:
                self._push(key)
        self._observer.ran(key.kind, _now() - started, result)
        if again_s is not None:
            self.add(key, again_s)

    def _failed(self, key: ObjectKey, error: Exception) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        again_s = delay_s(failures, self._rng)
        expected = isinstance(error, RetryError | TimeoutError)
        text = str(error) or f"not done within {self._run_timeout_s:.0f} s"
        log.warning(
            "%s: %s (try %d; again in %.0f s)", key, text, failures, again_s,
            exc_info=None if expected else error,
        )  # fmt: skip
        return again_s

    # -- order ------------------------------------------------------------------------------------

    def _push(self, key: ObjectKey) -> None:
        self._pushed += 1  # keys that are due at the same time run in the order of their adding
        heapq.heappush(self._heap, (self._due[key], self._pushed, key))
        self._changed.set()

    def _wait_s(self) -> float | None:
        """Seconds until the next key is due; None if none waits."""
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) == due and key not in self._started:
                return due - _now()
            heapq.heappop(self._heap)
        return None

    def _pop(self) -> ObjectKey:
        due, _, key = heapq.heappop(self._heap)
        del self._due[key]
        self._observer.depth(len(self._due))
        self._observer.waited(key.kind, max(0.0, _now() - due))
        return key


def _now() -> float:
    return asyncio.get_running_loop().time()
