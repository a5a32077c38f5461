"""The cluster's processes: each recorded, so that nothing else is ever ended.

Keeps true: a record names a process by its number and its start time, so a number that the kernel
has given to another process since is left alone. A tied process dies with the one that started it,
even by SIGKILL.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

POLL_S = 0.05


class ProcessDied(Exception):
    """A process of the cluster ended by itself; the text has the end of its log."""


class Daemons:
    """Starts, finds and ends processes; `folder` has a record and a log of each."""

    def __init__(self, folder: Path, *, tied: bool) -> None:
        self._records = folder / "pid"
        self._logs = folder / "log"
        self._tie = _tie() if tied else []
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str | Path]) -> int:
        for folder in (self._records, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*self._tie, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._children[name] = process
        record = f"{process.pid} {_started(process.pid)} {time.monotonic_ns()}"
        (self._records / name).write_text(record, encoding="utf-8")
        return process.pid

    def names(self) -> list[str]:
        """The last started first: the order to stop them in."""
        if not self._records.is_dir():
            return []
        return sorted((path.name for path in self._records.iterdir()), key=self._age, reverse=True)

    def pid(self, name: str) -> int | None:
        """None when it does not run, or never did."""
        try:
            pid, started, _ = self._record(name)
        except OSError:
            return None
        return pid if _started(pid) == started else None

    def check(self) -> None:
        """Raises ProcessDied if one that was started runs no more."""
        for name in self.names():
            if self.pid(name) is None:
                raise ProcessDied(f"{name} ended by itself; its log ends with:\n{self.tail(name)}")

    def tail(self, name: str, lines: int = 15) -> str:
        try:
            text = (self._logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def kill(self, name: str) -> None:
        """SIGKILL: nothing that they know is kept. Harmless for one that has ended."""
        if (pid := self.pid(name)) is not None:
            os.kill(pid, signal.SIGKILL)
            while self.pid(name) is not None:
                self._reap(name)
                time.sleep(POLL_S)
        self._forget(name)

    def kill_all(self) -> None:
        for name in self.names():
            self.kill(name)

    def _reap(self, name: str) -> None:
        """A child of ours stays as a record in the kernel until it is asked for."""
        if name in self._children:
            self._children[name].poll()

    def _forget(self, name: str) -> None:
        if name in self._children:
            self._children.pop(name).wait()
        (self._records / name).unlink(missing_ok=True)

    def _record(self, name: str) -> tuple[int, str, int]:
        pid, started, at_ns = (self._records / name).read_text(encoding="utf-8").split()
        return int(pid), started, int(at_ns)

    def _age(self, name: str) -> int:
        return self._record(name)[2]


def _tie() -> list[str]:
    """Where the kernel cannot tie processes (not Linux), they are ended by record alone.

    A starter that died before the tie was made is noticed by the shell: it has another parent then.
    """
    if shutil.which("setpriv") is None:
        return []
    check = 'test "$PPID" = "$0" || exit 1; exec "$@"'
    return ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", check, str(os.getpid())]


def _started(pid: int) -> str:
    """The start time as the system writes it; empty once it is gone or only to be reaped."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "" if Path("/proc/self").exists() else _started_elsewhere(pid)
    fields = text.rpartition(") ")[2].split()
    return "" if fields[0] == "Z" and _threads(pid) <= 1 else fields[19]


def _threads(pid: int) -> int:
    """While a killed process has more than one, it may still write."""
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return 0


def _started_elsewhere(pid: int) -> str:
    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return "-".join(done.stdout.split())
