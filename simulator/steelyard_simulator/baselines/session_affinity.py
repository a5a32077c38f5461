"""A session's requests all go to one instance, by consistent hashing.

Source: production-stack `session` and vllm-router `consistent_hash` (160 points on the ring for
each instance). A request without a session goes to the instance with the fewest requests of the
last 60 s (production-stack: the lowest QPS), of equal ones the first. Where a trace has no sessions
at all, that is all that happens.

Knows: its own placing. Blind to load for requests with a session, to prompts and caches always.
Constants: 160 points, 60 s (`window_s`).
"""

from bisect import bisect
from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from xxhash import xxh3_64_intdigest

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.replay.policy import Arrival, Options

POINTS = 160
WINDOW_S = 60.0


class SessionAffinity(Baseline):
    """choice = the next instance on the ring after the session"""

    name: ClassVar[str] = "session-affinity"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.window_s = options.parameter("window_s", WINDOW_S)
        self._ring: list[tuple[int, str]] = []
        self._placed: dict[Instance, deque[float]] = {}

    def joined(self, instance: Instance) -> None:
        self._placed[instance] = deque()
        points = (
            (xxh3_64_intdigest(f"{instance.name}/{at}".encode()), instance.name)
            for at in range(POINTS)
        )
        self._ring = sorted([*self._ring, *points])

    def left(self, instance: Instance) -> None:
        del self._placed[instance]
        self._ring = [point for point in self._ring if point[1] != instance.name]

    def placed(self, claim: Claim, now: float) -> None:
        self._placed[claim.instance].append(now)

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del hits
        names = [instance.name for instance in self.fleet]
        if arrival.session is not None:
            after = bisect(self._ring, (xxh3_64_intdigest(arrival.session.encode()), ""))
            return names.index(self._ring[after % len(self._ring)][1])
        for times in self._placed.values():
            while times and times[0] < now - self.window_s:
                times.popleft()
        return min(range(len(names)), key=lambda row: len(self._placed[self.fleet[row]]))
