"""How many Events one object may get: the limits that Kubernetes' own components keep.

A burst of 25, then one in five minutes, for each object by itself, so that one that flaps floods
neither the API server nor what people read. Drops are logged, the first of a row at once.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

BURST = 25
REFILL_S = 300.0
OBJECTS = 4096
"""Buckets kept; beyond that the fullest are forgotten, which nobody can tell from a new one."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float
    dry: bool = False


class TokenBuckets:
    """One bucket per uid. `clock` is steady."""

    def __init__(
        self, *, clock: Callable[[], float], burst: int = BURST, refill_s: float = REFILL_S
    ) -> None:
        self._clock = clock
        self._burst = burst
        self._refill_s = refill_s
        self._buckets: dict[str, _Bucket] = {}

    def take(self, uid: str) -> bool:
        """False: this one is one too many."""
        bucket = self._bucket(uid)
        if bucket.tokens < 1:
            if not bucket.dry:
                log.warning("object %s has had too many Events of late: some are dropped", uid)
            bucket.dry = True
            return False
        bucket.tokens -= 1
        bucket.dry = False
        return True

    def give_back(self, uid: str) -> None:
        """A taken one was not used."""
        bucket = self._bucket(uid)
        bucket.tokens = min(bucket.tokens + 1, self._burst)

    def _bucket(self, uid: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(uid)
        if bucket is None:
            self._trim()
            bucket = self._buckets[uid] = _Bucket(float(self._burst), now)
        refilled = bucket.tokens + (now - bucket.at) / self._refill_s
        bucket.tokens, bucket.at = min(refilled, float(self._burst)), now
        return bucket

    def _trim(self) -> None:
        if len(self._buckets) < OBJECTS:
            return
        fullest = sorted(self._buckets, key=lambda uid: -self._buckets[uid].tokens)
        for uid in fullest[: OBJECTS // 8]:
            del self._buckets[uid]
