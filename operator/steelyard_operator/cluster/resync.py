"""Lists both kinds from time to time and gives every object its turn.

What a watch lost heals here: an edit that was not heard, a deletion that fell into a gap, a status
of a router that nobody announced.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence

from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError

from .backoff import delay_s
from .heard import Heard, heard
from .observe import namespace_objects

SPREAD = 0.2

log = logging.getLogger(__name__)


class Resync:
    """`listed` is given all objects. Its first round is at once."""

    def __init__(
        self,
        kube: Kube,
        namespaces: Sequence[str],
        listed: Callable[[Sequence[Heard]], None],
        *,
        period_s: float,
        clock: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self.period_s = period_s
        self.last_success_at = clock()
        self.error = ""
        self._kube = kube
        self._namespaces: Sequence[str | None] = namespaces or (None,)
        self._listed = listed
        self._clock = clock
        self._rng = rng

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        failures = 0
        while True:
            try:
                await self._round()
                failures = 0
                wait_s = self.period_s * self._rng.uniform(1 - SPREAD, 1 + SPREAD)
            except KubeError as error:
                failures += 1
                wait_s = min(self.period_s, delay_s(failures, self._rng))
                self.error = str(error)
                log.warning("no resync: %s (again in %.0f s)", error, wait_s)
            await asyncio.sleep(wait_s)

    async def _round(self) -> None:
        rounds = [await namespace_objects(self._kube, place) for place in self._namespaces]
        objects = [item for services, policies in rounds for item in (*policies, *services)]
        self._listed([heard(None, item) for item in objects])
        self.last_success_at = self._clock()
        self.error = ""
