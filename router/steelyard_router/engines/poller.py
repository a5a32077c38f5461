"""Asking every engine for its metrics, again and again.

Polls correct what the router counts by itself; they are never needed. So a poll that fails says
nothing about health: it is counted, and the next one is tried.
"""

import random
import time
from collections.abc import Callable, Iterable

import aiohttp

from steelyard_router.config import Endpoint
from steelyard_router.engines.adapter import read_page
from steelyard_router.engines.fetch import fetch
from steelyard_router.engines.report import EngineReport, Progress
from steelyard_router.engines.rounds import Rounds


class Poller:
    """Calls `on_report(instance, report, now)` for every metrics page that could be read."""

    def __init__(
        self,
        on_report: Callable[[str, EngineReport, float], None],
        *,
        interval_s: float = 2.0,
        timeout_s: float = 2.0,
        rng: random.Random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_report = on_report
        self._timeout_s = timeout_s
        self._clock = clock
        self._progress: dict[Endpoint, Progress] = {}
        self._rounds = Rounds(self._poll, interval_s=interval_s, rng=rng)
        self.failures = 0
        """Polls without a page that could be read, since the start."""

    def follow(self, endpoints: Iterable[Endpoint]) -> None:
        """Poll these from now on, and no others. Needs a running event loop."""
        wanted = dict.fromkeys(endpoints)
        self._progress = {e: self._progress.get(e, Progress()) for e in wanted}
        self._rounds.follow(wanted)

    async def close(self) -> None:
        await self._rounds.close()

    async def _poll(self, endpoint: Endpoint, session: aiohttp.ClientSession) -> None:
        url = f"{endpoint.url.rstrip('/')}/metrics"
        answer = await fetch(session, url, timeout_s=self._timeout_s)
        reading = read_page(endpoint.engine, answer.body) if answer and answer.ok else None
        if reading is None:
            self.failures += 1
            return
        report = self._progress[endpoint].report(reading)
        self._on_report(endpoint.id, report, self._clock())
