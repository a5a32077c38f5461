"""What a router asks of its alerts, whether it judges its own windows (watch) or, in a cluster,
those of all replicas (cluster/alert).
"""

from collections.abc import Mapping
from typing import Protocol

from steelyard_router.alerts.figure import ServiceFigures
from steelyard_router.config import RouterConfig


class Judge(Protocol):
    """Evaluates the rules of the policy in force."""

    @property
    def holder(self) -> bool:
        """Whether it is this replica that judges."""
        ...

    @property
    def posted(self) -> Mapping[str, int]:
        """Events by reason."""
        ...

    @property
    def dropped(self) -> Mapping[str, int]: ...

    def replace(self, config: RouterConfig, now: float) -> None:
        """Follow a configuration that has been swapped in."""
        ...

    def states(self) -> list[dict[str, object]]:
        """As AlertBook.states."""
        ...

    @property
    def figures(self) -> ServiceFigures | None:
        """The service's, if it is this replica that judges and it has added them up."""
        ...

    async def run(self) -> None:
        """A duty."""
        ...
