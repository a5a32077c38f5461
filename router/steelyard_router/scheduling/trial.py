"""A second opinion on a placement: what another policy would have chosen. It takes nothing."""

from dataclasses import dataclass

from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import Room
from steelyard_router.scheduling.strategy import Strategy


@dataclass(slots=True)
class Trial:
    """The request as the policy on trial sees it, and how that policy would place it."""

    request: RequestView
    strategy: Strategy
    max_p_tokens: int | None = None
    room: Room | None = None
    """What that policy calls room; None if nothing waits under it."""
