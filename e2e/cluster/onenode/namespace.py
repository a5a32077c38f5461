"""The node: a mount, network and process namespace of its own on this machine.

Keeps true: all of the node's processes, mounts, links and packet filter rules live in there, so
when its first process ends the kernel takes everything else apart. What is left on this machine
are a folder and control groups, both of this cluster alone.
"""

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from onenode.process import Daemons

FIRST = "node"
"""The record of the process that holds the namespaces."""

READY_S = 15.0
POLL_S = 0.02

# $1: state folder, $2: the first process. Folders with fixed names that the parts write to are laid
# over, so that nothing of the node lies in this machine's /run or /var.
SET_UP = """
set -e
mount --make-rshared /
for folder in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 node "$folder"; done
mkdir -p /var/lib/kubelet /var/log/pods "$1/kubelet" "$1/pods"
mount --bind "$1/kubelet" /var/lib/kubelet
mount --bind "$1/pods" /var/log/pods
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
touch "$1/namespaces"
exec "$2"
"""

HIDDEN = tuple(map(Path, ("/run", "/var/lib", "/var/log")))


class Namespace:
    """`programs` has `pause`, the first process; `state` is where the node keeps its files."""

    def __init__(self, programs: Path, state: Path, daemons: Daemons) -> None:
        self._programs = programs
        self._state = state
        self._daemons = daemons

    def start(self) -> None:
        ready = self._state / "namespaces"
        ready.unlink(missing_ok=True)
        unshare = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
        first = (self._state, self._programs / "pause")
        self._daemons.start(FIRST, [*unshare, "sh", "-c", SET_UP, "node", *first])
        end_s = time.monotonic() + READY_S
        while not ready.exists():
            self._daemons.check()
            if time.monotonic() > end_s:
                raise TimeoutError(f"no namespaces in time:\n{self._daemons.tail(FIRST)}")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """At once: everything in there is killed, and nothing of it is kept."""
        self._daemons.kill(FIRST)

    @property
    def pid(self) -> int:
        """Of the first process, as this machine numbers it."""
        holder = self._daemons.pid(FIRST)
        text = Path(f"/proc/{holder}/task/{holder}/children").read_text(encoding="ascii")
        return int(text.split()[0])

    def inside(self, *command: str | Path) -> list[str | Path]:
        """The command as it has to be called from here to run in there."""
        enter = ("nsenter", f"--target={self.pid}", "--mount", "--net", "--pid")
        return [*enter, "--wd=/", *command]

    def run(self, *command: str | Path, timeout_s: float = 120.0) -> str:
        done = subprocess.run(
            self.inside(*command), capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout


def problem(state: Path) -> str | None:
    """Why a node cannot have namespaces here, in one sentence; None if it can."""
    tools = [each for each in ("unshare", "nsenter", "setpriv") if shutil.which(each) is None]
    if tools:
        return f"not there: {', '.join(tools)}"
    for folder in HIDDEN:
        if state.is_relative_to(folder):
            return f"the checkout is under {folder}, which the node lays its own folder over"
    tried = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true")
    return _failure(tried, "this machine gives no namespaces")


def _failure(command: Sequence[str], means: str) -> str | None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{means}: {done.stderr.strip()}" if done.returncode else None
