"""A process of this product or of another, for as long as a block lasts."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_S = 10.0


@contextmanager
def child(command: Sequence[str | Path], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """SIGTERM at the end, and SIGKILL to one that does not follow it."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
