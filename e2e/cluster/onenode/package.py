"""Debian's packages that level 2 is made of."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from onenode.phase import log, phase


@dataclass(frozen=True)
class Package:
    """A package, and a file that shows that it is there."""

    name: str
    file: str

    @property
    def is_installed(self) -> bool:
        return Path(self.file).exists() if "/" in self.file else shutil.which(self.file) is not None


PACKAGES = (
    Package("containerd", "containerd"),
    Package("runc", "runc"),
    Package("containernetworking-plugins", "/usr/lib/cni/ptp"),
    Package("nftables", "nft"),
    Package("conntrack", "conntrack"),
    Package("iproute2", "ip"),
    Package("buildah", "buildah"),
    Package("mmdebstrap", "mmdebstrap"),
)


def missing() -> list[Package]:
    return [each for each in PACKAGES if not each.is_installed]


def problem() -> str | None:
    """Why the packages that are missing cannot be installed here; None if they can."""
    if missing() and shutil.which("apt-get") is None:
        names = ", ".join(each.name for each in missing())
        return f"not there, and this is not Debian, to install them: {names}"
    return None


def install() -> None:
    """Only what is missing, and nothing that Debian merely recommends."""
    names = [each.name for each in missing()]
    if not names:
        return
    log.info("installing %s ...", ", ".join(names))
    with phase("Debian packages"):
        _apt("update")
        _apt("install", "-y", "--no-install-recommends", *names)


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", "-q", *arguments], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(f"apt-get {arguments[0]} failed:\n{done.stdout[-800:]}{done.stderr}")
