"""Whether the operator makes progress, from what it did and not from whether it answers.

What a fresh start would heal makes the kubelet do that (/healthz), which loses nothing: all state
is in the cluster. What it would not, such as an API server that is away, only shows (/readyz): an
operator that is started anew while it cannot begin waits longer and longer for its next start.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .queue import WorkQueue
from .resync import Resync

STUCK_S = 120.0
RESYNC_PERIODS = 2.5
HUNG_S = 30.0
"""For how long the watcher may give no sign of life, or fail to end."""


class Ears(Protocol):
    """The watcher's word on itself, given how long it may be silent."""

    def why_deaf(self, limit_s: float) -> str | None: ...

    def why_hung(self, limit_s: float) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Health:
    """Asks the parts. `clock` is the one that the queue and the resync live by."""

    queue: WorkQueue
    resync: Resync
    watcher: Ears
    clock: Callable[[], float]

    def broken(self) -> tuple[str, ...]:
        """What a fresh start would heal; empty when nothing."""
        found = self._work()
        if self._silent_s > 0 and not self.resync.error:
            found.append(f"the resync hangs for {self._silent_s:.0f} s")
        if why := self.watcher.why_hung(HUNG_S):
            found.append(why)
        return tuple(found)

    def problems(self) -> tuple[str, ...]:
        """What does not go on, for whatever reason; empty when all is well."""
        found = self._work()
        if self._silent_s > 0:
            found.append(f"no resync for {self._silent_s:.0f} s: {self.resync.error or 'it hangs'}")
        if why := self.watcher.why_deaf(HUNG_S):
            found.append(why)
        return tuple(found)

    def _work(self) -> list[str]:
        found: list[str] = []
        if not self.queue.alive:
            found.append("a worker has ended")
        if stuck := self.queue.stuck(STUCK_S):
            keys = ", ".join(map(str, stuck[:3]))
            found.append(f"{len(stuck)} keys get no further for {STUCK_S:.0f} s: {keys}")
        return found

    @property
    def _silent_s(self) -> float:
        """Since the last resync, if that is too long ago; else 0."""
        silent_s = self.clock() - self.resync.last_success_at
        return silent_s if silent_s > RESYNC_PERIODS * self.resync.period_s else 0.0
