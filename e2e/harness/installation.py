"""The product in the cluster, installed as its users install it: by the chart."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onenode.kubectl import Kubectl
from onenode.phase import phase
from onenode.place import Place

from harness.target import Target

RELEASE = "steelyard"
NAMESPACE = "steelyard-system"
CHART = Place().checkout / "charts" / "steelyard"
WITHIN = "--timeout=120s"


@dataclass(frozen=True)
class Installation:
    """A release of the chart, its operator running."""

    target: Target
    release: str
    namespace: str

    @property
    def kubectl(self) -> Kubectl:
        """In the namespace of the operator."""
        return self.target.kubectl.within(self.namespace)

    def upgrade(self, values: Mapping[str, str] | None = None) -> None:
        """Installs, or upgrades to, this checkout's chart with the image under test."""
        repository, _, tag = self.target.image.rpartition(":")
        every = {
            "image.repository": repository,
            "image.tag": tag,
            "image.pullPolicy": self.target.pull_policy,
            **(values or {}),
        }
        settings = [f"--set={key}={value}" for key, value in every.items()]
        where = (f"--namespace={self.namespace}", "--create-namespace", "--wait", WITHIN)
        with phase("helm install"):
            self._helm("upgrade", "--install", self.release, CHART, *where, *settings)

    def uninstall(self) -> None:
        where = (f"--namespace={self.namespace}", "--ignore-not-found", "--wait", WITHIN)
        self._helm("uninstall", self.release, *where)

    def _helm(self, *arguments: str | Path) -> str:
        return self.target.run_helm(*arguments)


def install(target: Target) -> Installation:
    """A fresh one: pods of an earlier run would still have that run's image."""
    made = Installation(target, RELEASE, NAMESPACE)
    made.uninstall()
    made.upgrade()
    return made
