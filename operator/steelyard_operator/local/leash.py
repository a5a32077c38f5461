"""Becomes the given command, which then gets SIGTERM when its parent dies, however that dies.

Run as a script, `leash.py PARENT_PID COMMAND...`: a request to the kernel that survives exec, made
here rather than between fork and exec of a process with threads. Linux only; elsewhere it only
execs.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent_pid: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent_pid:
            sys.exit("the parent is gone")
    try:
        os.execvp(command[0], command)  # noqa: S606 (that is all this file is for)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
