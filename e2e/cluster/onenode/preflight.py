"""Why level 2 cannot run on this machine, in one sentence: its tests are skipped with it."""

import os
import sys

from onenode import api, cgroup, namespace, package
from onenode.binary import LEVEL_2
from onenode.build import Workshop, go_problem
from onenode.place import Place


def problem(place: Place) -> str | None:
    """None if it can. What can be installed or built here is no problem."""
    if sys.platform != "linux":
        return "containers need Linux"
    if os.geteuid() != 0:
        return "the node needs root (namespaces, control groups, mounts)"
    if Workshop(place.programs).missing(LEVEL_2) and (reason := go_problem()):
        return reason
    return (
        package.problem()
        or api.problem(place.programs)
        or namespace.problem(place.state)
        or cgroup.problem()
    )
