"""What a status computation asks of its caller: one status to store, Events to post, a next look.

Events are found by comparing with the stored status, so they must be posted before the new status
is stored. Whoever is stopped between the two repeats the same `occurrence` afterwards: it is made
of the stored past, never of the time of day, so the writer of Events knows it again.
"""

from dataclasses import dataclass
from typing import Literal

from .live import Object


@dataclass(frozen=True, slots=True)
class EventIntent:
    """An Event to post on the policy or service called `name`, in the namespace of its cause.

    `uid` is empty where it is not known here. `related` names the LLMService that it is about.
    """

    about: Literal["policy", "service"]
    name: str
    uid: str
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    message: str
    occurrence: str
    key: tuple[str, ...] = ()
    related: str | None = None


@dataclass(frozen=True, slots=True)
class StatusPlan:
    """`status` is whole; equal to the stored one, nothing is to be written.

    `requeue_s` is None where only changes of watched objects matter.
    """

    status: Object
    events: tuple[EventIntent, ...] = ()
    requeue_s: float | None = None
