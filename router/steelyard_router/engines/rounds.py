"""Visiting every endpoint again and again, each in a task of its own.

One slow or dead endpoint delays no other. The tasks are kept, begun anew for an endpoint that
changed, and cancelled when it is gone; `close` waits for their end and closes the connections.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable

import aiohttp

from steelyard_router.config import Endpoint

log = logging.getLogger(__name__)

SPREAD = 0.1
"""Share of the interval by which visits are scattered, so that endpoints are not asked in step."""


class Rounds:
    """Calls `visit(endpoint, session)` every `interval_s`, the first time at once."""

    def __init__(
        self,
        visit: Callable[[Endpoint, aiohttp.ClientSession], Awaitable[None]],
        *,
        interval_s: float,
        rng: random.Random,
    ) -> None:
        self._visit = visit
        self._rng = rng
        self._session: aiohttp.ClientSession | None = None
        self._tasks: dict[Endpoint, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self.interval_s = interval_s
        """May be changed; counts from the next visit on."""

    def follow(self, endpoints: Iterable[Endpoint]) -> None:
        """Visit these from now on, and no others. Needs a running event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        wanted = dict.fromkeys(endpoints)
        for endpoint in [known for known in self._tasks if known not in wanted]:
            self._end(self._tasks.pop(endpoint))
        for endpoint in wanted:
            if endpoint not in self._tasks:
                self._tasks[endpoint] = asyncio.create_task(self._go(endpoint, self._session))

    async def close(self) -> None:
        """End every task, then the connections. May be called twice."""
        for task in self._tasks.values():
            self._end(task)
        self._tasks.clear()
        if self._ending:
            await asyncio.wait(self._ending)
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.cancel()

    async def _go(self, endpoint: Endpoint, session: aiohttp.ClientSession) -> None:
        await asyncio.sleep(self._rng.uniform(0, SPREAD * self.interval_s))
        while True:
            try:
                await self._visit(endpoint, session)
            except Exception:  # a supervisor: one strange answer must not end the watch for good
                log.exception("visiting %s failed; it will be visited again", endpoint.id)
            await asyncio.sleep(self.interval_s * self._rng.uniform(1 - SPREAD, 1 + SPREAD))
