"""What an alert says when it fires, while it keeps firing, and when it ends."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Repeated comes every repeat_s while an alert fires."""

    FIRED = "Fired"
    REPEATED = "Repeated"
    CLEARED = "Cleared"


class Reason(StrEnum):
    """Why an alert ended: its value came back, its data stopped, or its rule changed or went."""

    RECOVERED = "recovered"
    NO_DATA = "no_data"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Transition:
    """One notification. `value` and `threshold` are in the threshold's unit.

    `threshold` is the bound that `message` compares with: the firing one, or, once the value is
    within that, the clearing one.
    `rule` is the same for equal rules in any process (Rule.fingerprint).
    `since` is when the alert began to fire and `at` is now, both on the caller's clock. `message`
    is ASCII of at most 1,024 bytes and holds nothing from any request.
    """

    kind: Kind
    reason: Reason | None
    service: str
    alert: str
    workload: str
    rule: str
    metric: str
    percentile: int
    severity: str
    value: float | None
    threshold: float | None
    samples: int
    since: float
    at: float
    message: str
