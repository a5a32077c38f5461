"""How much the router knows when it decides: each more costs more, so each is timed.

NOTHING   no coefficient is trusted, requests have no targets: the product
COSTS     what steps cost is known everywhere: the marginal delay
TARGETS   and every request has targets, which instances must have room for, as in a live router
"""

from enum import Enum
from typing import Any, Final

from steelyard_router.scheduling.predictor import OnlinePredictor
from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.room import Room

CLASSES: Final = {
    "chat": SLO(ttft_s=0.5, tpot_s=0.03),
    "code": SLO(ttft_s=1.0, tpot_s=0.06),
    "batch": SLO(e2e_s=60.0),
}
ROOM: Final = Room(kv_share=1e6, dear=1e6)
"""Looks at everything, as a live router's does, and turns nobody away."""


class Knowledge(Enum):
    """Its value is what reports call it."""

    NOTHING = "nothing"
    COSTS = "costs"
    TARGETS = "costs, targets, room"

    def view(self, number: int, **prompt: Any) -> RequestView:  # noqa: ANN401 -- fields
        """The request of that number, with that prompt."""
        if self is not Knowledge.TARGETS:
            return RequestView(**prompt)
        name = list(CLASSES)[number % len(CLASSES)]
        tokens = 256.0
        return RequestView(
            workload=name, slo=CLASSES[name], expected_output_tokens=tokens, **prompt
        )

    @property
    def placing(self) -> dict[str, Any]:
        """What a decision is asked for with, besides."""
        return {"room": ROOM} if self is Knowledge.TARGETS else {}


class Trusting(OnlinePredictor):
    """Trusts what it knows from `trust` on, right or not: the time of a decision is the same."""

    trust = False

    def trusted(self, instance: str) -> bool:
        super().trusted(instance)
        return self.trust
