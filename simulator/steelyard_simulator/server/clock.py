"""Engine time: real time, faster, slower, or standing still, without a jump when that changes."""

from collections.abc import Callable
from math import inf


class ScaledClock:
    """Counts engine seconds from 0. `wall` gives real seconds and does not go back."""

    def __init__(self, wall: Callable[[], float], speed: float) -> None:
        self._wall = wall
        self._speed = speed
        self._origin_wall = wall()
        self._origin = 0.0

    def now(self) -> float:
        return self._origin + (self._wall() - self._origin_wall) * self._speed

    def set_speed(self, speed: float) -> None:
        """Engine seconds per real second from now on; 0 stops the clock."""
        self._origin = self.now()
        self._origin_wall = self._wall()
        self._speed = speed

    def wall_until(self, at_s: float) -> float:
        """Real seconds until engine time `at_s`: 0 if it has passed, inf if the clock stands
        still."""
        ahead = at_s - self.now()
        if ahead <= 0:
            return 0.0
        return ahead / self._speed if self._speed else inf
