"""CPU and memory of a process and its children, from /proc."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard_bench.wire.meter import Meter

BURN = """
import time
def burn():
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
"""
IN_A_THREAD = BURN + "import threading; t = threading.Thread(target=burn); t.start(); t.join()"
CHILD = BURN + "burn(); print(flush=True); input()"
WITH_A_CHILD = f"""
from subprocess import PIPE, Popen
from sys import executable
c = Popen([executable, "-c", {CHILD!r}], stdin=PIPE, stdout=PIPE)
c.stdout.readline()
"""


@contextmanager
def _python(program: str) -> Iterator[subprocess.Popen[str]]:
    """Says "ready", runs the program when told to, says "done", and stays until told to end."""
    steps = f"print('ready', flush=True); input()\n{program}\nprint('done', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-I", "-c", steps],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate("\n", timeout=10)


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def test_the_time_of_ended_threads_counts() -> None:
    with _python(IN_A_THREAD) as process:
        meter = Meter(process.pid)
        meter.start()
        _go(process)
        meter.stop()

    assert meter.cpu_s is not None
    assert 0.18 <= meter.cpu_s < 0.5


def test_the_time_of_a_running_child_counts() -> None:
    with _python(f"{WITH_A_CHILD}\nprint('done', flush=True); input(); c.communicate()") as process:
        meter = Meter(process.pid)
        meter.start()
        _go(process)
        meter.stop()
        _go(process)

    assert meter.cpu_s is not None
    assert meter.cpu_s >= 0.18


def test_the_peak_is_that_of_the_window() -> None:
    allocate = "b = bytearray(64 << 20); del b"
    with _python(f"{allocate}\nprint('done', flush=True); input()\n{allocate}") as process:
        _go(process)
        idle, busy = Meter(process.pid), Meter(process.pid)
        idle.start()
        idle.stop()
        busy.start()
        _go(process)
        busy.stop()

    assert idle.peak_rss_bytes is not None
    assert busy.peak_rss_bytes is not None
    assert idle.peak_rss_bytes < 40 << 20 < 64 << 20 <= busy.peak_rss_bytes


def test_without_a_process_there_is_nothing_to_tell() -> None:
    meter = Meter(None)
    meter.start()
    meter.stop()

    assert meter.cpu_s is None
    assert meter.peak_rss_bytes is None
