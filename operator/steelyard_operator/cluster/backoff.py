"""How long work that failed waits before it is tried again."""

import random

BASE_S = 1.0
CAP_S = 60.0


def delay_s(failures: int, rng: random.Random) -> float:
    """After the n-th failure in a row (from 1): doubles from 1 s to 60 s, the upper half random."""
    ceiling = min(CAP_S, BASE_S * 2.0 ** min(failures, 30))
    return max(BASE_S, ceiling * rng.uniform(0.5, 1.0))
