"""Back-pressure from a client's socket to the engine that fills it.

Keeps true: while the client's write buffer is over its high-water mark, the upstream connection
does not read, so a slow reader costs one buffer, not the response.
"""

from collections.abc import Callable


class WriteFlow:
    """Whether the client takes bytes now, and whom to tell when that changes."""

    __slots__ = ("_on_change", "paused_since_s")

    def __init__(self) -> None:
        self.paused_since_s: float | None = None
        self._on_change: Callable[[bool], None] | None = None

    def pause(self, now: float) -> None:
        if self.paused_since_s is None:
            self.paused_since_s = now
            if self._on_change is not None:
                self._on_change(True)  # noqa: FBT003 -- the callback's only argument

    def resume(self) -> None:
        if self.paused_since_s is not None:
            self.paused_since_s = None
            if self._on_change is not None:
                self._on_change(False)  # noqa: FBT003

    def follow(self, on_change: Callable[[bool], None] | None) -> None:
        """Tells `on_change(paused)` from now on, and at once if writing is paused; None: tells
        nobody.
        """
        self._on_change = on_change
        if on_change is not None and self.paused_since_s is not None:
            on_change(True)  # noqa: FBT003
