"""Asking routers without waiting for those that are known to be silent.

A router that cannot be reached (a NetworkPolicy, a dead node) costs whoever asks the whole timeout.
A few hundred of them would keep every worker waiting, and all other objects with them. So one that
let somebody wait is asked again in the background, a few at a time, and counts as silent until it
has answered there.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

import aiohttp

from .report import Fetch

AGAIN_S = 2.0
"""Between two background tries of one URL."""
TRIES = 16
"""In the background at once."""
REMEMBERED = 4096
"""Silent URLs; beyond that the oldest are forgotten."""


class PatientFetch:
    """A Fetch around another. `clock` is steady."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._silent: OrderedDict[str, float] = OrderedDict()
        """When each is to be tried again."""
        self._tries: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, url: str) -> bytes:
        if url in self._silent:
            self._try_again(url)
            raise TimeoutError(f"{url} did not answer in time, and is tried in the background")
        try:
            return await self._fetch(url)
        except TimeoutError:
            self._note(url)
            raise

    def _note(self, url: str) -> None:
        self._silent[url] = self._clock() + AGAIN_S
        while len(self._silent) > REMEMBERED:
            self._silent.popitem(last=False)

    def _try_again(self, url: str) -> None:
        if url in self._tries or len(self._tries) >= TRIES or self._clock() < self._silent[url]:
            return
        task = asyncio.create_task(self._try(url), name=f"ask {url}")
        self._tries[url] = task
        task.add_done_callback(lambda _: self._tries.pop(url, None))

    async def _try(self, url: str) -> None:
        try:
            await self._fetch(url)
        except TimeoutError:
            self._note(url)
            return
        except (aiohttp.ClientError, OSError, ValueError):
            pass  # an answer of a kind, and a quick one: the next who asks will hear it
        self._silent.pop(url, None)
