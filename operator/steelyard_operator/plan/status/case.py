"""One pod that is not ready, with what else is known of it; and what is wrong, in one sentence."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .container import Container
from .live import Live, bounded, condition, moment, text

_FIRST_SYNC = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Trouble:
    """`stalled`: no more waiting helps, somebody has to do something."""

    reason: str
    message: str
    pod: str
    uid: str
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One pod that is not ready, and what else is known of it.

    `downloads`: its engine has nothing on disk when it first starts, so it downloads first.
    """

    pod: Live
    component: str
    downloads: str | None
    events: tuple[Live, ...]
    now: datetime

    @property
    def name(self) -> str:
        return text(self.pod, "metadata", "name")

    @property
    def scheduled(self) -> bool:
        return bool(text(self.pod, "spec", "nodeName"))

    @property
    def age(self) -> timedelta:
        """Since it was placed on a node, else since it was made."""
        placed = moment(condition(self.pod, "PodScheduled").get("lastTransitionTime"))
        made = moment((self.pod.get("metadata") or {}).get("creationTimestamp"))
        since = (placed if self.scheduled else None) or made or self.now
        return max(self.now - since, timedelta(0))

    @property
    def was_ready(self) -> bool:
        """Its condition Ready moved after the kubelet first wrote it, so it was True once."""
        began = moment((self.pod.get("status") or {}).get("startTime"))
        moved = moment(condition(self.pod, "Ready").get("lastTransitionTime"))
        return began is not None and moved is not None and moved - began > _FIRST_SYNC

    def trouble(self, reason: str, message: str, *, stalled: bool = False) -> Trouble:
        return Trouble(
            reason, bounded(message), self.name, text(self.pod, "metadata", "uid"), stalled
        )

    def logs(self, container: Container, *, previous: bool) -> str:
        namespace = text(self.pod, "metadata", "namespace")
        command = f"kubectl logs -n {namespace} {self.name} -c {container.name}"
        return f"`{command}{' --previous' if previous else ''}`"
