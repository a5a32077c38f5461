"""Whether the operator makes progress, from what it did and not from whether it answers.

A check that fails makes the kubelet start it anew, which loses nothing: all state is in the
cluster. So every check here is about something that a fresh start would heal.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .queue import WorkQueue
from .resync import Resync

STUCK_S = 120.0
RESYNC_PERIODS = 2.5
BEAT_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Health:
    """Asks the parts. `clock` is the one that the queue and the resync live by; `why_deaf` is the
    watcher's: what keeps it from hearing events, given how long it may be silent.
    """

    queue: WorkQueue
    resync: Resync
    why_deaf: Callable[[float], str | None]
    clock: Callable[[], float]

    def problems(self) -> tuple[str, ...]:
        """What does not go on; empty when all is well."""
        found: list[str] = []
        if not self.queue.alive:
            found.append("a worker has ended")
        if stuck := self.queue.stuck(STUCK_S):
            keys = ", ".join(map(str, stuck[:3]))
            found.append(f"{len(stuck)} keys get no further for {STUCK_S:.0f} s: {keys}")
        silent_s = self.clock() - self.resync.last_success_at
        if silent_s > RESYNC_PERIODS * self.resync.period_s:
            found.append(f"no resync for {silent_s:.0f} s: {self.resync.error or 'it hangs'}")
        if why := self.why_deaf(BEAT_LIMIT_S):
            found.append(why)
        return tuple(found)
