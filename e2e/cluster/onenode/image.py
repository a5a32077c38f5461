"""The product's image, from its real Dockerfile, on a machine that can pull none.

Keeps true: the only difference from `docker build` is where the base image comes from: Debian's own
packages, under the name that the Dockerfile says. An image is built again when, and only when, a
file that goes into it changed.
"""

import hashlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from onenode import pip
from onenode.lock import exclusive
from onenode.phase import log, phase
from onenode.place import Place

IMAGE = "localhost/steelyard:e2e"

SUITE = "bookworm"
IN_BASE = ("python3", "python3-venv")
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")


class Builder:
    """Builds into `images`: the base once, the product's image as often as it changes."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._folder = place.images

    @property
    def archive(self) -> Path:
        return self._folder / "steelyard.tar"

    def build(self) -> Path:
        """The archive of the image as the checkout is now."""
        with exclusive(self._folder / ".lock"):
            return self._build()

    def _build(self) -> Path:
        digest = _digest(self._place.checkout)
        stamp = self._folder / "steelyard.stamp"
        if self.archive.exists() and _read(stamp) == digest:
            return self.archive
        base = base_of(self._place.checkout / "Dockerfile")
        self._build_base(base)
        with phase(f"image {IMAGE}"):
            laid_over = [f"--volume={each}" for each in pip.volumes(self._folder)]
            offline = ("--pull=never", "--layers", "--isolation=chroot", "--network=host")
            self._buildah("bud", *offline, *laid_over, f"--tag={IMAGE}", self._place.checkout)
        with phase("image written to an archive"):
            fresh = self._folder / "steelyard.new"
            fresh.unlink(missing_ok=True)
            self._buildah("push", "-q", IMAGE, f"docker-archive:{fresh}:{IMAGE}")
            fresh.replace(self.archive)
        stamp.write_text(digest, encoding="utf-8")
        return self.archive

    def _build_base(self, name: str) -> None:
        """Stands in for `name`: a Debian of the same suite with its own Python."""
        stamp = self._folder / "base.stamp"
        content = " ".join((name, SUITE, *IN_BASE, *LEFT_OUT))
        if _read(stamp) == content:
            return
        context = self._folder / "base"
        context.mkdir(exist_ok=True)
        log.info("base image %s: from Debian's packages ...", name)
        with phase(f"base image {name}"):
            packages = f"--include={','.join(IN_BASE)}"
            leave_out = [f"--dpkgopt=path-exclude={each}" for each in LEFT_OUT]
            tree = context / "base.tar"
            _run(["mmdebstrap", "--variant=minbase", packages, *leave_out, SUITE, tree])
            (context / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n", encoding="utf-8")
            self._buildah("bud", "--isolation=chroot", f"--tag={name}", context)
            tree.unlink()
        stamp.write_text(content, encoding="utf-8")

    def _buildah(self, *arguments: str | Path) -> None:
        """In a mount namespace of its own, so that no mount stays behind."""
        store = (f"--root={self._folder / 'store'}", f"--runroot={self._folder / 'running'}")
        _run(["unshare", "--mount", "buildah", *store, "--storage-driver=overlay", *arguments])


def base_of(dockerfile: Path) -> str:
    """The one image that the Dockerfile builds on."""
    text = dockerfile.read_text(encoding="utf-8")
    names = set(re.findall(r"^FROM (\S+)", text, re.MULTILINE))
    if len(names) != 1:
        raise ValueError(f"{dockerfile} must build on one image, and builds on {sorted(names)}")
    return str(names.pop())


def sources(checkout: Path) -> Iterator[Path]:
    """The files that go into the image: those that .dockerignore lets through."""
    lines = (checkout / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in ("Dockerfile", *(line[1:] for line in lines if line.startswith("!"))):
        path = checkout / name
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in found if each.is_file() and "__pycache__" not in each.parts)


def _digest(checkout: Path) -> str:
    sha = hashlib.sha256()
    for path in sources(checkout):
        sha.update(f"{path.relative_to(checkout)}\0".encode() + path.read_bytes() + b"\0")
    return sha.hexdigest()


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{said}")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
