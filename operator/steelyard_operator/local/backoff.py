"""How long to wait before a process that died is started again."""

import random
from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Doubles from `base_s` to `cap_s`, with jitter; a life of `stable_s` starts it afresh."""

    rng: random.Random
    base_s: float = 0.5
    cap_s: float = 30.0
    stable_s: float = 30.0
    deaths: int = 0

    def delay(self, lived_s: float) -> float:
        """Seconds to wait after a life of `lived_s`."""
        if lived_s >= self.stable_s:
            self.deaths = 0
        ceiling = min(self.cap_s, self.base_s * 2.0 ** min(self.deaths, 30))
        self.deaths += 1
        return ceiling * self.rng.uniform(0.5, 1.0)
