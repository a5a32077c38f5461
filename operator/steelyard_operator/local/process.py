"""One child process, in a session of its own, with its output in a log file.

It ends with everything that it started: signals go to its process group, and what is left of the
group after its leader is killed. If we die without a word, it gets SIGTERM (leash.py).
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

_LEASH = str(Path(__file__).with_name("leash.py"))
_LEFTOVER_S = 2.0
"""What a group may take to follow its leader before it is killed."""
_REAP_S = 5.0
_POLL_S = 0.05


class Child:
    """A running process. Start it with `Child.start`, and always end it with `stop`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, command: Sequence[str], *, env: Mapping[str, str], log: Path) -> Self:
        """`env` is added to our own environment. The log of the last life stays as `<log>.1`."""
        with _fresh(log) as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _LEASH, str(os.getpid())),
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **env},
                start_new_session=True,
            )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def wait(self) -> int:
        """The exit code, or minus the signal that ended it."""
        return await self._process.wait()

    async def stop(self, grace_s: float) -> None:
        """SIGTERM, then SIGKILL after `grace_s`; returns when the process is gone."""
        try:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._process.wait()
            if not self.alive:
                await self._group_gone()
        finally:
            self.kill()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_REAP_S):
                    await self._process.wait()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    async def _group_gone(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEFTOVER_S):
                while self._signal(0):  # noqa: ASYNC110 (the kernel offers no event for this)
                    await asyncio.sleep(_POLL_S)

    def _signal(self, number: int) -> bool:
        """False when nothing of the group is left."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True


def _fresh(log: Path) -> BinaryIO:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(f"{log}.1")
    return log.open("wb")


def tail(log: Path, lines: int = 10) -> str:
    """The last lines of a log, for people; empty when there is none."""
    try:
        with log.open(encoding="utf-8", errors="replace") as text:
            return "".join(deque(text, maxlen=lines)).rstrip()
    except FileNotFoundError:
        return ""
