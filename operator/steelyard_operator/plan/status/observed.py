"""What was seen of one service: its children, what became of applying them, its routers' reports.

Plain values: the shell fills them in, the plan judges them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .live import Live


class ApplyError(Protocol):
    """Why a child was not applied. `status` is the HTTP status; 0: no answer."""

    @property
    def status(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """An ApplyError as a value."""

    status: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class RouterReport:
    """What one router replica says at /status. `ready` is the pod's condition.

    `status` is empty and `revision` None when it could not be reached.
    """

    pod: str
    revision: str | None
    ready: bool
    holder: bool = False
    config_error: str | None = None
    status: Mapping[str, Any] = field(default_factory=dict)
    reachable: bool = True


@dataclass(frozen=True, slots=True)
class Observed:
    """Keys of deployments, pods and services are components: engine, router.

    `pod_events` holds Events by pod name, for those that `unexplained` asks for. `revision` is
    that of the configuration compiled for the routers. `corrected` names the children that someone
    else had changed, with the resourceVersions of the repair.
    """

    deployments: Mapping[str, Live] = field(default_factory=dict)
    pods: Mapping[str, tuple[Live, ...]] = field(default_factory=dict)
    services: Mapping[str, Live] = field(default_factory=dict)
    pod_events: Mapping[str, tuple[Live, ...]] = field(default_factory=dict)
    apply_errors: Mapping[tuple[str, str], ApplyError] = field(default_factory=dict)
    conflicts: tuple[Live, ...] = ()
    corrected: tuple[tuple[str, str, str], ...] = ()
    reports: tuple[RouterReport, ...] = ()
    revision: str | None = None


def holder(reports: Iterable[RouterReport]) -> RouterReport | None:
    """The replica whose figures count: the holder of the alert Lease, if it answered."""
    return next((report for report in reports if report.reachable and report.holder), None)


def counted(reports: Iterable[RouterReport]) -> tuple[RouterReport, ...]:
    """Those whose configuration matters: the ready ones, or all while none is ready."""
    known = tuple(reports)
    return tuple(report for report in known if report.ready) or known
