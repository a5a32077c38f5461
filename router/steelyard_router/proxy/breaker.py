"""Passive health of one instance: what the requests sent to it say.

    closed --failures--> open --open_s--> half_open --success--> returning --ramp_s--> closed
                          ^-----------failure---'                    |
                          ^-----------failures in a row--------------'

Each way back to open doubles open_s, up to open_max_s.

It catches what probes cannot: an engine that answers its health path while requests hang or fail.
The caller decides what a failure is. A 4xx is the client's doing and a client that left says
nothing, so neither may reach this class; else one bad client takes a healthy fleet away from
everybody.

Reads do not change anything: the state is worked out from `now`, so no timer has to fire on time.
"""

import math
from enum import StrEnum

from steelyard_router import config

RETURN_FIRST = 2.0
RETURN_LAST = 256.0
"""Requests held at the begin and the end of the slow return; in between they grow by equal factors,
since nothing is known here about how much an instance can hold.
"""


class BreakerState(StrEnum):
    """What new requests meet."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"
    RETURNING = "returning"


class Breaker:
    """Counts failures in a row and says how many requests the instance may hold.

    Only results of requests that were begun since the last opening ended count. When an instance
    dies, hundreds of requests fail at once; the ones behind the first few must neither lengthen the
    opening nor decide the trial, and an old stream that ends well proves nothing about new
    requests.
    """

    __slots__ = ("_failures", "_open_s", "_opened", "_retry_at", "_returned_at", "settings")

    def __init__(self, settings: config.Breaker) -> None:
        self.settings = settings
        self._failures = 0
        self._opened = False
        self._open_s = 0.0
        self._retry_at = -math.inf
        self._returned_at = -math.inf

    def succeeded(self, now: float, *, begun: float) -> None:
        """A request dispatched at `begun` was answered."""
        if begun < self._retry_at:
            return
        self._failures = 0
        if self._opened:
            self._opened = False
            self._returned_at = now

    def failed(self, now: float, *, begun: float) -> None:
        """A request dispatched at `begun` got a 5xx, a broken connection or a timeout."""
        if begun < self._retry_at:
            return
        self._failures += 1
        if self._opened or self._failures >= self.settings.failures:
            self._open(now)

    def state(self, now: float) -> BreakerState:
        if self._opened:
            return BreakerState.OPEN if now < self._retry_at else BreakerState.HALF_OPEN
        if now < self._returned_at + self.settings.ramp_s:
            return BreakerState.RETURNING
        return BreakerState.CLOSED

    def limit(self, now: float) -> float:
        """Requests the instance may hold at once: inf closed, 0 open, 1 on trial, growing on
        return.
        """
        match self.state(now):
            case BreakerState.CLOSED:
                return math.inf
            case BreakerState.OPEN:
                return 0.0
            case BreakerState.HALF_OPEN:
                return 1.0
            case BreakerState.RETURNING:
                share = (now - self._returned_at) / self.settings.ramp_s
                return float(int(RETURN_FIRST * math.pow(RETURN_LAST / RETURN_FIRST, share)))

    def _open(self, now: float) -> None:
        again = self.state(now) is not BreakerState.CLOSED
        open_s = self._open_s * 2 if again else self.settings.open_s
        self._open_s = min(open_s, self.settings.open_max_s)
        self._opened = True
        self._failures = 0
        self._retry_at = now + self._open_s
