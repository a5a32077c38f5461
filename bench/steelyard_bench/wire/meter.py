"""What a router's processes cost the machine, read from /proc. Linux only.

CPU time is that of every thread, ended ones included; the peak of memory is the kernel's own, set
back at the start, so nothing is missed between two looks.
"""

import contextlib
import os
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PEAK_RESET = "5"
"""Written to clear_refs, see proc(5)."""


class Meter:
    """Between `start` and `stop`: CPU seconds and peak memory of a process and its children.

    Without a process (a load that goes straight to the engine) there is nothing to tell: both stay
    None.
    """

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._before_s = 0.0
        self.cpu_s: float | None = None
        self.peak_rss_bytes: int | None = None

    def start(self) -> None:
        for pid in self._tree():
            (PROC / str(pid) / "clear_refs").write_text(PEAK_RESET)
        self._before_s = self._cpu_s()

    def stop(self) -> None:
        if self._pid is None:
            return
        self.cpu_s = self._cpu_s() - self._before_s
        self.peak_rss_bytes = sum(_peak_rss_bytes(pid) for pid in self._tree())

    def _cpu_s(self) -> float:
        return sum(_cpu_s(pid) for pid in self._tree())

    def _tree(self) -> list[int]:
        found = [] if self._pid is None else [self._pid]
        for pid in found:
            found += _children(pid)  # the loop goes on over what it finds
        return found


def _cpu_s(pid: int) -> float:
    # the second field is the name in parentheses, which may hold anything
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _peak_rss_bytes(pid: int) -> int:
    for line in (PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in (PROC / str(pid) / "task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found
