"""A simulation that is killed takes its worker processes with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.proc_stat import alive, cpu_s

COMMAND = (
    *(sys.executable, "-P", "-c", "from steelyard.main import main; main(prog_name='steelyard')"),
    *("simulate", "--mix", "slo", "--rate", "40", "--duration", "3600", "--seeds", "1,2"),
    *("--policy", "least-request", "--jobs", "2"),
)


def children(pid: int) -> set[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return {int(child) for child in text.split()}


def test_workers_end_when_their_parent_is_killed() -> None:
    process = subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    workers: set[int] = set()
    try:
        end = time.monotonic() + 60
        while sum(cpu_s(pid) > 1 for pid in children(process.pid)) < 2:
            assert process.poll() is None
            assert time.monotonic() < end, "no workers"
            time.sleep(0.1)
        workers = children(process.pid)
        process.kill()
        process.wait()
        end = time.monotonic() + 20
        while any(alive(pid) for pid in workers):
            assert time.monotonic() < end, "workers outlive their parent"
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
        for pid in workers:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
