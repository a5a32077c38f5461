"""What an engine's metrics page says, in one form for all engines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """One page as an adapter reads it; None where the page does not say."""

    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None
    """Share of the KV cache that running requests hold, 0..1; the mean over data-parallel ranks."""
    cache_tokens: int | None = None
    """Size of the KV cache, all data-parallel ranks together."""
    counters: tuple[float, ...] = ()
    """Totals that only ever grow while the engine lives, always in the same order."""


@dataclass(frozen=True, slots=True)
class EngineReport:
    """A reading, and what it says when it is held against the one before it."""

    running: int | None
    waiting: int | None
    kv_usage: float | None
    cache_tokens: int | None
    restarted: bool
    """A counter went backwards: the engine began anew, and its cache is empty."""
    progressed: bool
    """It computed something since the last poll, so it does not hang as a whole."""


class Progress:
    """Readings of one instance, one after the other."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: Reading | None = None

    def report(self, reading: Reading) -> EngineReport:
        """The first reading reports neither a restart nor progress: there is nothing to compare."""
        last, self._last = self._last, reading
        restarted = progressed = False
        if last is not None and len(last.counters) == len(reading.counters):
            pairs = list(zip(last.counters, reading.counters, strict=True))
            restarted = any(new < old for old, new in pairs)
            # During a long prefill no token counter moves, but the share of the cache in use does.
            progressed = any(new != old for old, new in pairs) or last.kv_usage != reading.kv_usage
        return EngineReport(
            running=reading.running,
            waiting=reading.waiting,
            kv_usage=reading.kv_usage,
            cache_tokens=reading.cache_tokens,
            restarted=restarted,
            progressed=progressed,
        )
