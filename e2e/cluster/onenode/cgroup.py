"""The control groups that the node's pods are in: below one folder of this cluster's own.

Keeps true: the kubelets of two clusters never see each other's pods, and removing the folder
removes what was left. Both versions of control groups work.
"""

import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
GONE_S = 10.0
POLL_S = 0.05

V1_NEEDED = ("cpu", "cpuacct", "cpuset", "memory")


def is_unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def problem() -> str | None:
    """Why no pod can run here, in one sentence; None if they can."""
    if is_unified():
        return None
    lacking = [name for name in V1_NEEDED if not (ROOT / name / "cgroup.procs").exists()]
    return f"no control groups for {', '.join(lacking)}" if lacking else None


def create(name: str) -> None:
    for hierarchy in _hierarchies():
        (hierarchy / name).mkdir(exist_ok=True)


def remove(name: str) -> None:
    """The processes in them have been killed; the kernel may still be burying them."""
    end_s = time.monotonic() + GONE_S
    for hierarchy in _hierarchies():
        while (hierarchy / name).exists() and not _removed(hierarchy / name):
            if time.monotonic() > end_s:
                raise TimeoutError(f"control group {hierarchy / name} does not become empty")
            time.sleep(POLL_S)


def _removed(group: Path) -> bool:
    """Bottom up: a group that has groups cannot be removed."""
    try:
        for inner in group.iterdir():
            if inner.is_dir() and not _removed(inner):
                return False
        group.rmdir()
    except OSError:
        return not group.exists()
    return True


def _hierarchies() -> list[Path]:
    if is_unified():
        return [ROOT]
    return [path for path in sorted(ROOT.iterdir()) if _is_hierarchy(path)]


def _is_hierarchy(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and (path / "cgroup.procs").exists()
