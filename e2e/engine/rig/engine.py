"""One real engine that `steelyard up` runs: its processes, its cache, what it says of itself."""

import os
import signal
from dataclasses import dataclass

from rig import process, web


@dataclass(frozen=True)
class Engine:
    """A life of an engine: started again, it is another one, with another pid and url."""

    name: str
    url: str
    pid: int
    """Of its API server, which leads the process group of everything that belongs to it."""

    @property
    def core_pid(self) -> int:
        """Of the process that computes."""
        for pid in process.descendants(self.pid):
            if process.command(pid)[:1] == ["VLLM::EngineCore"]:
                return pid
        raise LookupError(f"{self.name} has no process of its own for the engine core")

    def stop(self) -> None:
        """All its processes stand still, and their sockets with them."""
        os.killpg(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """As a supervisor would: SIGTERM to the API server."""
        os.kill(self.pid, signal.SIGTERM)

    def forget(self) -> None:
        """Empties its prefix cache, which needs it idle."""
        if web.call(f"{self.url}/reset_prefix_cache", method="POST") is None:
            raise AssertionError(f"{self.name} did not empty its cache")

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        page = (web.call(f"{self.url}/metrics") or b"").decode()
        values = [
            float(line.rsplit(" ", 1)[1])
            for line in page.splitlines()
            if line.startswith((f"{name}{{", f"{name} "))
        ]
        if not values:
            raise AssertionError(f"{self.name} exports no {name}")
        return sum(values)
