"""kopf, on a thread and an event loop of its own.

kopf cancels every task of its loop when it ends, takes the process's signals where it can, and ends
as a whole when one watch does. Here none of that can touch a reconcile: what it hears crosses over
as messages, and when it ends it is started again after a back-off. A fresh start lists everything,
so nothing that happened meanwhile is missed.
"""

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import kopf

from .backoff import delay_s
from .heard import Heard
from .login import Login
from .registry import build_registry, build_settings

BEAT_S = 1.0
STEADY_S = 60.0
"""After a life of that long, the next failure counts as the first."""
JOIN_S = 15.0
CLOSING_S = 0.25
"""TLS connections that were closed end a moment later; their loop has to live until then."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Pulse:
    """How the thread is. Written there, read anywhere."""

    beat_at: float = 0.0
    """When its event loop last turned."""
    watching: bool = False
    ending_at: float | None = None
    """When this life began to end; None while it lives, and between two."""
    error: str = ""


class Watcher:
    """Start it, stop it. `hear` is called on the loop that `start` was called on."""

    def __init__(
        self,
        hear: Callable[[Heard], None],
        *,
        namespaces: Sequence[str],
        kubeconfig: str | None,
        rng: random.Random,
    ) -> None:
        self._hear = hear
        self._namespaces = list(namespaces)
        self._kubeconfig = kubeconfig
        self._rng = rng
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._pulse = Pulse()
        self._end: Callable[[], object] | None = None
        """Ends this life of kopf."""

    def start(self) -> None:
        loop = asyncio.get_running_loop()

        def tell(event: Heard) -> None:
            try:
                loop.call_soon_threadsafe(self._hear, event)
            except RuntimeError:
                log.debug("an event came after the end")

        self._pulse.beat_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, args=(tell,), name="watcher", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stop.set()
        if (end := self._end) is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed: it has ended
                end()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, JOIN_S)

    def why_deaf(self, limit_s: float) -> str | None:
        """What keeps it from hearing events; None when all is well."""
        if (why := self.why_hung(limit_s)) is not None:
            return why
        if not self._pulse.watching and self._pulse.error:
            return f"nothing is watched: {self._pulse.error}"
        return None

    def why_hung(self, limit_s: float) -> str | None:
        """What keeps it from ever hearing events again; a server that is away does not."""
        if self._thread is None or not self._thread.is_alive():
            return "the watcher's thread has ended"
        silent_s = time.monotonic() - self._pulse.beat_at
        if silent_s > limit_s:
            return f"the watcher's event loop has not turned for {silent_s:.0f} s"
        ending_at = self._pulse.ending_at
        if ending_at is not None and time.monotonic() - ending_at > limit_s:
            return f"kopf does not end: {self._pulse.error}"
        return None

    # -- on the thread ----------------------------------------------------------------------------

    def _run(self, tell: Callable[[Heard], None]) -> None:
        failures = 0
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                asyncio.run(self._watch(tell))
            except Exception as error:  # noqa: BLE001 (a supervisor: whatever it was, watch again)
                self._pulse.error = str(error) or type(error).__name__
            finally:
                self._pulse.watching, self._pulse.ending_at = False, None
            if self._stop.is_set():
                return
            failures = 1 if time.monotonic() - began > STEADY_S else failures + 1
            again_s = delay_s(failures, self._rng)
            log.warning("watching ended: %s (again in %.0f s)", self._pulse.error, again_s)
            self._wait(again_s)

    def _wait(self, seconds: float) -> None:
        """Sleeps, and lives: a waiting thread is not a stuck one."""
        until = time.monotonic() + seconds
        while not self._stop.is_set() and time.monotonic() < until:
            self._pulse.beat_at = time.monotonic()
            self._stop.wait(BEAT_S)

    async def _watch(self, tell: Callable[[Heard], None]) -> None:
        """One life of kopf. The beat begins before it, so kopf leaves it alone."""
        beat = asyncio.create_task(self._beat(), name="beat")
        stop, login = asyncio.Event(), Login(self._kubeconfig)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_mention)
        self._end = lambda: loop.call_soon_threadsafe(stop.set)
        if self._stop.is_set():  # before there was an end to call
            stop.set()
        self._pulse.watching, self._pulse.error = True, ""
        try:
            await kopf.operator(
                registry=build_registry(tell, login, self._ending),
                settings=build_settings(),
                standalone=True,
                # Else it asks for the user's name, which a container's user need not have.
                identity="steelyard",  # type: ignore[arg-type]  # a NewType of a private module
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                stop_flag=stop,
            )
        finally:
            self._end = None
            beat.cancel()
            await login.close()
            await asyncio.sleep(CLOSING_S)

    def _ending(self) -> None:
        """Before it has ended: if it should hang in that, it is known to be deaf."""
        self._pulse.watching, self._pulse.error = False, "kopf has ended, its log says why"
        self._pulse.ending_at = time.monotonic()

    async def _beat(self) -> None:
        while True:
            self._pulse.beat_at = time.monotonic()
            await asyncio.sleep(BEAT_S)


def _mention(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Where several watches die at once kopf raises one error and forgets the others; asyncio would
    print each with its trace.
    """
    log.warning("watching: %s: %s", context.get("message"), context.get("exception"))
