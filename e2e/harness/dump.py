"""What a failed test leaves for its reader: the objects, Events and logs of its namespaces."""

import re
import subprocess
from pathlib import Path

from onenode.kubectl import Kubectl

KINDS = "all,configmaps,endpointslices,leases,poddisruptionbudgets,llmservices,slopolicies"
TIMEOUT_S = 30.0


def dump(kubectl: Kubectl, namespaces: list[str], folder: Path) -> Path:
    """Writes a folder for each namespace. A cluster that does not answer is no second failure."""
    for namespace in namespaces:
        within = kubectl.within(namespace)
        place = folder / namespace
        place.mkdir(parents=True, exist_ok=True)
        _write(place / "pods.txt", within, "get", "pods", "-o", "wide")
        _write(place / "events.txt", within, "get", "events", "--sort-by=.lastTimestamp")
        _write(place / "describe.txt", within, "describe", "pods,llmservices,slopolicies")
        _write(place / "objects.yaml", within, "get", KINDS, "-o", "yaml")
        for pod in _output(within, "get", "pods", "-o", "name").split():
            logs = ("logs", pod, "--all-containers", "--prefix", "--tail=2000")
            _write(place / f"{pod.partition('/')[2]}.log", within, *logs)
            _write(place / f"{pod.partition('/')[2]}.previous.log", within, *logs, "--previous")
    return folder


def folder_for(base: Path, test: str) -> Path:
    return base / re.sub(r"[^\w.-]+", "_", test)


def _write(path: Path, kubectl: Kubectl, *arguments: str) -> None:
    text = _output(kubectl, *arguments)
    if text.strip():
        path.write_text(text, encoding="utf-8")


def _output(kubectl: Kubectl, *arguments: str) -> str:
    """Without what went wrong: most pods have no earlier container to tell of."""
    try:
        done = subprocess.run(
            kubectl.command(*arguments),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout
