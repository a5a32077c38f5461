"""A cluster by kind, for machines where Docker runs."""

import shutil
import subprocess
from pathlib import Path

from onenode.phase import phase
from onenode.place import Place

NAME = "steelyard-e2e"


def problem() -> str | None:
    """Why there can be none, in one sentence; None if there can."""
    if shutil.which("docker") is None or _call("docker", "info").returncode:
        return "Docker does not run here"
    if shutil.which("kind") is None:
        return "Docker runs, but kind is not installed"
    return None


def up(place: Place, image: str) -> Path:
    """Also builds the image and loads it. Returns the kubeconfig."""
    kubeconfig = place.checkout / "build" / "kind.kubeconfig"
    kubeconfig.parent.mkdir(exist_ok=True)
    with phase(f"image {image}"):
        _must("docker", "build", "--tag", image, str(place.checkout))
    if NAME not in _must("kind", "get", "clusters").split():
        config = place.checkout / "e2e" / "kind.yaml"
        where = (f"--config={config}", f"--kubeconfig={kubeconfig}", "--wait=180s")
        with phase("kind"):
            _must("kind", "create", "cluster", f"--name={NAME}", *where)
    _must("kind", "load", "docker-image", image, f"--name={NAME}")
    return kubeconfig


def down(place: Place) -> None:
    kubeconfig = place.checkout / "build" / "kind.kubeconfig"
    _must("kind", "delete", "cluster", f"--name={NAME}", f"--kubeconfig={kubeconfig}")


def _must(*command: str) -> str:
    done = _call(*command)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def _call(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
