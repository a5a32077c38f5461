"""Processes that run before those of others, where the caller may ask for that. Linux only.

A study shares its cores with whatever else runs, and `nice` of the others is void where the kernel
shares time by session first (autogroups): then a session's own weight has to be raised.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from steelyard_bench.fidelity.errors import FidelityError

AHEAD: Final = -15
"""What `nice -n 15` for the others would come to: 28 times their weight."""
SUGGESTION: Final = "run it as root or without --ahead"


def put_ahead(pid: int, nice: int = AHEAD) -> None:
    """The process, and what it will start; where it leads a session, that too.

    Raises FidelityError.
    """
    try:
        os.setpriority(os.PRIO_PROCESS, pid, nice)
        with suppress(FileNotFoundError):  # a kernel without sessions that share
            _autogroup(pid).write_text(str(nice))
    except OSError as exc:
        raise FidelityError(
            f"the priority of process {pid} cannot be raised ({exc.strerror}): {SUGGESTION}"
        ) from exc


@contextmanager
def ourselves_ahead() -> Iterator[None]:
    """For the block, this process and its session."""
    pid = os.getpid()
    usual, session = os.getpriority(os.PRIO_PROCESS, pid), 0
    with suppress(FileNotFoundError):
        session = int(_autogroup(pid).read_text().split()[-1])
    put_ahead(pid)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, pid, usual)
        with suppress(FileNotFoundError):
            _autogroup(pid).write_text(str(session))


def _autogroup(pid: int) -> Path:
    return Path(f"/proc/{pid}/autogroup")
