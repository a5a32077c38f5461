"""Keeps one program running: start, wait until it answers, start again with back-off when it dies.

Runs until it is cancelled; however it ends, its process is gone by then.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import aiohttp

from .backoff import Backoff
from .process import Child, tail
from .ready import until_healthy


class State(StrEnum):
    """Where a kept program is in its life."""

    STARTING = "starting"
    READY = "ready"
    WAITING = "restarting"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Launch:
    """One start: what to run, and where it must answer within `timeout_s`."""

    command: Sequence[str]
    url: str
    health_path: str
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Keeper:
    """`launch` is asked before every start, so each life may have a port of its own.

    `changed` is called whenever `state` changes; `report` gets sentences for people.
    """

    name: str
    launch: Callable[[], Launch]
    log: Path
    http: aiohttp.ClientSession
    backoff: Backoff
    stop_s: float
    report: Callable[[str], None]
    changed: Callable[[], None]
    state: State = State.STARTING
    url: str = ""
    """Where the current life listens."""
    _child: Child | None = None

    async def run(self) -> None:
        try:
            while True:
                began = time.monotonic()
                try:
                    why = await self._live(self.launch())
                except OSError as error:
                    why = f"cannot be started: {error}"
                delay_s = self.backoff.delay(time.monotonic() - began)
                self._tell(why, delay_s)
                self._enter(State.WAITING)
                await asyncio.sleep(delay_s)
        finally:
            self._enter(State.STOPPED)

    def kill(self) -> None:
        """SIGKILL, for those who cannot wait; `run` ends the rest."""
        if self._child is not None:
            self._child.kill()

    async def _live(self, launch: Launch) -> str:
        """One life; returns why it ended."""
        self.url = launch.url
        self._enter(State.STARTING)
        child = await Child.start(launch.command, env=launch.env, log=self.log)
        self._child = child
        try:
            probe = f"{launch.url}{launch.health_path}"
            if await until_healthy(
                self.http, probe, alive=lambda: child.alive, timeout_s=launch.timeout_s
            ):
                self._enter(State.READY)
            code = await child.wait()
            self._enter(State.WAITING)  # at once: what is left of its group may take seconds to end
            return f"ended ({_ending(code)})"
        except TimeoutError:
            return f"did not answer {launch.health_path} within {launch.timeout_s:.0f} s"
        finally:
            await child.stop(self.stop_s)
            self._child = None

    def _enter(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self.changed()

    def _tell(self, why: str, delay_s: float) -> None:
        last = tail(self.log)
        text = f"{self.name} {why}; it is started again in {delay_s:.1f} s (log: {self.log})"
        self.report(f"{text}\n{_indented(last)}" if last else text)


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _indented(text: str) -> str:
    return "\n".join(f"  | {line}" for line in text.splitlines())
