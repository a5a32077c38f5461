"""What keeps one container from running, read from its status.

A crash is told from a slow start by what the kubelet recorded: exit code and reason of the last
run. The last words of the log are not in a pod's status, so messages say where to read them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from steelyard_operator.plan.child.name import ENGINE

from .live import Live, at, bounded, count, moment, rows, text

IMAGE_REASONS = frozenset({
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
    "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed",
})  # fmt: skip
HOPELESS_IMAGE_REASONS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
CONFIG_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)
BACK_OFF = "CrashLoopBackOff"


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod. `exit_code` and `ended` are those of its last run, if it ended."""

    name: str
    init: bool
    ready: bool
    started: bool
    running: bool
    waiting: str
    words: str
    restarts: int
    exit_code: int | None
    exit_reason: str
    exit_words: str
    ended: datetime | None

    @property
    def failed(self) -> bool:
        """Its last run ended, and not well."""
        return self.exit_code is not None and self.exit_code != 0


def containers(pod: Live) -> tuple[Container, ...]:
    """Init containers first, in their order."""
    return (*_all(pod, "initContainerStatuses"), *_all(pod, "containerStatuses"))


def _all(pod: Live, field: str) -> Iterator[Container]:
    for status in rows(pod, "status", field):
        ended = at(status, "state", "terminated") or at(status, "lastState", "terminated")
        code = at(ended, "exitCode")
        yield Container(
            name=text(status, "name"),
            init=field == "initContainerStatuses",
            ready=status.get("ready") is True,
            started=status.get("started") is True,
            running=at(status, "state", "running") is not None,
            waiting=text(status, "state", "waiting", "reason"),
            words=text(status, "state", "waiting", "message"),
            restarts=count(status, "restartCount"),
            exit_code=code if isinstance(code, int) else None,
            exit_reason=text(ended, "reason"),
            exit_words=text(ended, "message"),
            ended=moment(at(ended, "finishedAt")),
        )


def ending(container: Container) -> str:
    """How its last run ended, for people."""
    parts = [f"exit code {container.exit_code}"]
    if container.exit_reason not in {"", "Error"}:
        parts.append(container.exit_reason)
    said = ", ".join(parts)
    if container.exit_reason == "OOMKilled":
        said += ": it needs more memory than resources.limits.memory allows"
    elif container.name == ENGINE and container.exit_code in {137, 143}:
        said += ": killed, as when it does not start within engine.startupTimeoutSeconds"
    return (
        f"{said}; it left: {bounded(container.exit_words, 160)}" if container.exit_words else said
    )
