"""The alerts of a router that stands alone: judged on its own windows, told in its log.

In a cluster cluster/alert.py does the same for all replicas of a router together.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from steelyard_router.alerts.book import AlertBook
from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.alerts.transition import Kind, Transition
from steelyard_router.alerts.window import Windows
from steelyard_router.config import RouterConfig

TICK_S = 1.0

log = logging.getLogger("steelyard.router")


class LocalAlerts:
    """`windows` gives the newest windows; `clock` is the router's steady clock."""

    holder = True
    """There is nobody else who could judge."""
    posted: Mapping[str, int] = MappingProxyType({})
    dropped: Mapping[str, int] = MappingProxyType({})
    """Events by reason: there are none outside a cluster."""

    def __init__(
        self,
        config: RouterConfig,
        windows: Callable[[], Windows],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._book = AlertBook(config.policy, config.service.name)
        self._workloads = config.policy.workloads
        self._windows = windows
        self._clock = clock

    def replace(self, config: RouterConfig, now: float) -> None:
        """Follow a configuration that has been swapped in."""
        self._workloads = config.policy.workloads
        tell(self._book.replace(config.policy, now))

    def states(self) -> list[dict[str, object]]:
        """As AlertBook.states."""
        return self._book.states()

    @property
    def figures(self) -> ServiceFigures:
        """This router is the whole service."""
        return ServiceFigures(self._windows(), 1, self._workloads)

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        while True:
            await asyncio.sleep(TICK_S)
            tell(self._book.evaluate(self._clock(), self._windows()))


def tell(transitions: Iterable[Transition]) -> None:
    """One line of log for each."""
    for transition in transitions:
        level = logging.INFO if transition.kind is Kind.CLEARED else logging.WARNING
        log.log(level, "%s", transition.message)
