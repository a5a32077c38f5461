"""Level 1 for as long as a block runs: the API without a node."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onenode.address import loopback
from onenode.binary import LEVEL_1
from onenode.build import Workshop, go_problem
from onenode.control_plane import ControlPlane
from onenode.phase import phase
from onenode.process import Daemons


def problem(programs: Path) -> str | None:
    """Why level 1 cannot run here, in one sentence; None if it can."""
    if shutil.which("openssl") is None:
        return "openssl is not installed (it makes the certificates of the API server)"
    if Workshop(programs).missing(LEVEL_1):
        return go_problem()
    return None


@contextmanager
def control_plane(programs: Path, state: Path) -> Iterator[ControlPlane]:
    """Its processes die with this one at the latest; `state` is removed."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    daemons = Daemons(state, tied=True)
    running = ControlPlane(programs, state, daemons)
    try:
        with phase("API server, etcd and controllers up"):
            running.start(loopback())
        yield running
    finally:
        daemons.kill_all()
        shutil.rmtree(state)
