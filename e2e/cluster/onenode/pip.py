"""How pip finds its packages on this machine, for the builds of images that are made here.

Keeps true: it is told to a build from outside, by files laid over the build's own, so that nothing
of this machine is in the Dockerfile or in the image.
"""

import ast
import subprocess
import sys
from pathlib import Path

NOT_HANDED_ON = frozenset({
    "break-system-packages", "cache-dir", "constraint", "disable-pip-version-check", "log",
    "no-cache-dir", "prefix", "python", "require-virtualenv", "requirement", "root", "src",
    "target", "user",
})  # fmt: skip
"""What concerns this machine's own installs; how packages are found is all the rest."""
FILES = ("cert", "find-links")
"""Settings that name something on this machine's disk."""


def settings() -> dict[str, str]:
    """From pip's files and from its environment, which wins."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key not in NOT_HANDED_ON and (key not in found or name.startswith(":env:")):
            found[key] = str(ast.literal_eval(value))
    return {key: value for key, value in found.items() if key not in FILES or Path(value).exists()}


def volumes(folder: Path) -> list[str]:
    """What to lay over the build's files, as `-v` takes it; `folder` gets the settings' file."""
    found = settings()
    config = folder / "pip.conf"
    lines = [f"{key} = {value}" for key, value in sorted(found.items())]
    config.write_text("\n".join(["[global]", *lines, ""]), encoding="utf-8")
    paths = [found[key] for key in FILES if key in found]
    return [f"{config}:/etc/pip.conf:ro", *(f"{path}:{path}:ro" for path in paths)]
