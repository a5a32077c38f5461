"""Builds the programs, each once.

Keeps true: a program is replaced as a whole or not at all; one whose pins, flags or compiler did
not change is not built again; a run that was cut short goes on where it stopped, since Go's own
cache keeps what was compiled.
"""

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from onenode.binary import Binary
from onenode.lock import exclusive
from onenode.phase import log

HEARTBEAT_S = 15.0
GO_NEEDED = (1, 26)


class BuildError(Exception):
    """`go build` failed; the text has what it said."""


def go_version() -> str:
    """Like `go1.26.0`; empty where there is no Go."""
    try:
        return subprocess.run(
            ["go", "env", "GOVERSION"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def go_problem() -> str | None:
    """Why nothing can be built here, in one sentence; None if it can."""
    version = go_version()
    needed = ".".join(map(str, GO_NEEDED))
    if not version:
        return f"Go is not installed (the cluster's programs are built with Go {needed} or later)"
    found = re.match(r"go(\d+)\.(\d+)", version)
    if found and tuple(map(int, found.groups())) < GO_NEEDED:
        return f"{version} is too old (the cluster's programs are built with Go {needed} or later)"
    return None


class Workshop:
    """The folder that the programs are built into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def missing(self, binaries: Iterable[Binary]) -> list[Binary]:
        version = go_version()
        return [each for each in binaries if not self._is_built(each, version)]

    def build(self, binaries: Iterable[Binary]) -> None:
        wanted = list(binaries)
        if self.missing(wanted):
            with exclusive(self.folder / ".lock"):
                self._build_all(self.missing(wanted))

    def _build_all(self, missing: list[Binary]) -> None:
        for number, each in enumerate(missing, 1):
            began_s = time.monotonic()
            log.info("%s (%d of %d): building ...", each.name, number, len(missing))
            self._build(each)
            log.info("%s: %.1f s", each.name, time.monotonic() - began_s)

    def _build(self, binary: Binary) -> None:
        fresh = self.folder / f".{binary.name}.new"
        flags = f"-s -w {binary.link_flags}".rstrip()
        options = ("-v", "-trimpath", "-ldflags", flags, "-o", fresh)
        _compile(["go", "build", *options, binary.package], binary)
        fresh.replace(self.folder / binary.name)
        self._stamp(binary).write_text(binary.digest(go_version()), encoding="utf-8")

    def _is_built(self, binary: Binary, version: str) -> bool:
        stamp = self._stamp(binary)
        if not (self.folder / binary.name).exists() or not stamp.exists():
            return False
        return not version or stamp.read_text(encoding="utf-8") == binary.digest(version)

    def _stamp(self, binary: Binary) -> Path:
        return self.folder / f".{binary.name}.stamp"


def _compile(command: Sequence[str | Path], binary: Binary) -> None:
    """Runs `go build -v`, which names each package as it is compiled."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    lines: list[str] = []
    with (
        _heartbeat(binary.name, lines),
        subprocess.Popen(
            command, cwd=binary.source, env=environment, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        try:
            for line in process.stderr:
                lines.append(line)  # noqa: PERF402  the heartbeat counts them meanwhile
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise BuildError(f"go build of {binary.name} failed:\n{''.join(lines[-20:])}")


@contextmanager
def _heartbeat(name: str, lines: list[str]) -> Iterator[None]:
    done = threading.Event()
    beat = threading.Thread(target=_tell, args=(name, lines, done), daemon=True)
    beat.start()
    try:
        yield
    finally:
        done.set()
        beat.join()


def _tell(name: str, lines: list[str], done: threading.Event) -> None:
    began_s = time.monotonic()
    while not done.wait(HEARTBEAT_S):
        took_s = time.monotonic() - began_s
        log.info("%s: %.0f s, %d packages compiled or fetched", name, took_s, len(lines))
