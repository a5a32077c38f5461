"""What the kernel tells of a process by its pid, whoever started it."""

import os
from pathlib import Path


def alive(pid: int) -> bool:
    """Not so one that is only to be reaped."""
    fields = _stat(pid)
    return bool(fields) and fields[0] != "Z"


def cpu_s(pid: int) -> float:
    """Seconds in its own code, not in the kernel; 0 where it is gone."""
    fields = _stat(pid)
    return int(fields[11]) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _stat(pid: int) -> list[str]:
    """All after the command's name, which may have blanks in it; empty where it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()
