"""The whole one-node cluster of a checkout: started, found again, taken down.

Keeps true: a start that fails takes down what it had started, and leaves its logs; taking down
works after a crash as well, from the records alone; a cluster that a test run started for itself
is not used by another run, since it goes with the first.
"""

import hashlib
import shutil
from pathlib import Path

from onenode import cgroup, link
from onenode.control_plane import ControlPlane
from onenode.image import IMAGE
from onenode.namespace import FIRST, Namespace
from onenode.node import Node
from onenode.phase import log, phase
from onenode.place import Place
from onenode.process import Daemons


class ClusterError(Exception):
    """The cluster cannot be started now; the text says why."""


class Cluster:
    """`tied`: it does not outlive this process."""

    def __init__(self, place: Place, *, tied: bool) -> None:
        self._place = place
        self._tied = tied
        self._daemons = Daemons(place.state, tied=tied)
        self._space = Namespace(place.programs, place.state, self._daemons)
        self.plane = ControlPlane(place.programs, place.state, self._daemons)
        self._node = Node(place.programs, self.plane, self._space, self._daemons, self._group)

    @property
    def is_running(self) -> bool:
        """Whether all of it does, whoever started it."""
        names = self._daemons.names()
        return FIRST in names and all(self._daemons.pid(name) for name in names)

    @property
    def is_standing(self) -> bool:
        """Whether it runs, and goes on when the run that uses it ends."""
        return self.is_running and not self._tie.exists()

    def up(self) -> None:
        """Its programs and Debian's packages are there; what a crash left is removed first."""
        if self.is_running:
            raise ClusterError(f"one runs already (its state is in {self._place.state})")
        self.down()
        self._place.state.mkdir(parents=True)
        if self._tied:
            self._tie.touch()
        try:
            self._start()
        except BaseException:
            self.down(but="log")
            log.info("the logs are in %s", self._place.state / "log")
            raise

    def load(self, archive: Path) -> None:
        """Unless it was the last that was loaded."""
        identity = f"{archive.stat().st_ino} {archive.stat().st_mtime_ns}"
        loaded = self._place.state / "loaded"
        if loaded.exists() and loaded.read_text(encoding="utf-8") == identity:
            return
        with phase(f"{IMAGE} loaded"):
            self._node.load(archive)
        loaded.write_text(identity, encoding="utf-8")

    def down(self, *, but: str = "") -> None:
        """Removes its folder as well; `but` names what stays in it."""
        self._space.stop()
        self._daemons.kill_all()
        link.await_gone(self._link)
        cgroup.remove(self._group)
        for path in self._place.state.glob("*"):
            if path.name != but:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not but and self._place.state.exists():
            self._place.state.rmdir()

    @property
    def _tie(self) -> Path:
        return self._place.state / "tied"

    @property
    def _link(self) -> Path:
        return self._place.state / "link"

    @property
    def _group(self) -> str:
        """One for each checkout of this machine."""
        path = str(self._place.state).encode()
        return f"steelyard-{hashlib.sha256(path).hexdigest()[:8]}"

    def _start(self) -> None:
        with phase("namespaces and network"):
            self._space.start()
            addresses = link.connect(self._space.pid, self._link)
        with phase("containerd"):
            self._node.start_runtime(addresses)
        with phase("API server, etcd and controllers"):
            self.plane.start(addresses)
        with phase("node ready, CoreDNS serving"):
            self._node.start(addresses)
            self._node.await_ready()
