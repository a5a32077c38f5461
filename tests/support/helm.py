"""The chart as helm renders it."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "steelyard"
KUBE_VERSION = "1.35.0"
"""helm built by `go install` takes the cluster for a very old one unless told."""

Object = dict[str, Any]


class Refused(Exception):
    """helm refused the values, or the chart."""


@dataclass(frozen=True)
class Rendered:
    """The objects of one rendering, by what tests ask for."""

    objects: list[Object] = field(default_factory=list)

    def of(self, kind: str) -> list[Object]:
        return [item for item in self.objects if item["kind"] == kind]

    def one(self, kind: str, suffix: str = "") -> Object:
        (found,) = [i for i in self.of(kind) if i["metadata"]["name"].endswith(suffix)]
        return found

    def kinds(self) -> set[str]:
        return {item["kind"] for item in self.objects}


@dataclass(frozen=True)
class Helm:
    """helm on this machine, with the chart."""

    path: Path
    scratch: Path

    def template(
        self,
        values: Object | None = None,
        *,
        release: str = "steelyard",
        namespace: str = "steelyard-system",
        kube_version: str = KUBE_VERSION,
    ) -> Rendered:
        """What would be applied. Raises Refused."""
        file = self.scratch / "values.yaml"
        file.write_text(yaml.safe_dump(values or {}), encoding="utf-8")
        text = self.run(
            "template", release, str(CHART), "--namespace", namespace,
            "--values", str(file), "--kube-version", kube_version,
        )  # fmt: skip
        return Rendered([item for item in yaml.safe_load_all(text) if item])

    def run(self, *args: str) -> str:
        done = subprocess.run(
            [str(self.path), *args], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise Refused(done.stderr + done.stdout)
        return done.stdout


def find() -> Path | None:
    """The helm that the cluster tools were built with, else one on PATH."""
    built = ROOT / "build" / "cluster" / "bin" / "helm"
    if built.exists():
        return built
    found = shutil.which("helm")
    return Path(found) if found else None


def leaves(tree: Object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Dotted paths of a values tree and what is there; an empty mapping is a leaf."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
