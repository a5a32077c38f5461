"""The level that is usual for one rule's value, learned from calm times only.

A moving mean over about twelve windows, weighted by time, so that it does not depend on how often
the rule is evaluated. It answers only after three windows of calm. Whoever feeds it leaves out
breaches (a slow incident must not become the usual) and times without data.
"""

MEMORY_WINDOWS = 12
WARM_UP_WINDOWS = 3


class Baseline:
    """Time is explicit; reading does not change it."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._mean: float | None = None
        self._learned_s = 0.0
        self._last: float | None = None

    @property
    def level(self) -> float | None:
        """None until enough is known."""
        return self._mean if self._learned_s >= WARM_UP_WINDOWS * self._window_s else None

    def learn(self, value: float, now: float) -> None:
        if self._mean is None or self._last is None:
            self._mean, self._last = value, now
            return
        passed_s = now - self._last
        if passed_s <= 0:
            return
        self._last = now
        self._learned_s += passed_s
        memory_s = min(self._learned_s, MEMORY_WINDOWS * self._window_s)
        self._mean += (value - self._mean) * passed_s / memory_s

    def resume(self, level: float, now: float) -> None:
        """Goes on from a level that somebody else has learned."""
        self._mean, self._last = level, now
        self._learned_s = WARM_UP_WINDOWS * self._window_s

    def skip(self, now: float) -> None:
        """Time that teaches nothing: a breach, or too few samples."""
        self._last = now
