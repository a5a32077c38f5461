"""What keeps the wanted children from being there: a name that is taken, or an API server's no.

Pods that already run are not touched by any of this, so it makes nothing unavailable; but what the
object asks for is not what runs, so the service is not Ready while a person has to act.
"""

from dataclasses import dataclass

from steelyard_router.kube.resource import LLM_SERVICE

from .live import Live, rows, text
from .observed import ApplyError, Observed

REFUSED = frozenset({400, 413, 422})
OVER_QUOTA = "exceeded quota"
"""How the API server words it, wherever."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """`stalled`: trying again helps nobody. Otherwise it is tried again by itself. `unready`: what
    is there under the children's names says nothing about this service.
    """

    reason: str
    message: str
    stalled: bool
    unready: bool = False


def blocker(observed: Observed) -> Blocker | None:
    """The one to tell: what somebody must act on before what may pass."""
    if observed.conflicts:
        return _conflict(observed)
    found = [
        _refusal(kind, name, error) for (kind, name), error in sorted(observed.apply_errors.items())
    ]
    return min(found, key=lambda item: not item.stalled, default=None)


def _conflict(observed: Observed) -> Blocker:
    taken = sorted(
        f"{text(item, 'kind')} {text(item, 'metadata', 'name')}" for item in observed.conflicts
    )
    if all(_outlived(item) for item in observed.conflicts):
        return Blocker(
            "NameConflict",
            f"{', '.join(taken)}: still there from an earlier LLMService of this name, and about to"
            " be collected",
            stalled=False,
            unready=True,
        )
    verb = "exists and is" if len(taken) == 1 else "exist and are"
    return Blocker(
        "NameConflict",
        f"{', '.join(taken)} {verb} not controlled by this LLMService, so nothing there is "
        "touched; delete it, or give this LLMService another name",
        stalled=True,
        unready=True,
    )


def _outlived(item: Live) -> bool:
    """Controlled by an LLMService of the very name whose child it is called after: by one that is
    deleted, so the garbage collector is on its way.
    """
    service = text(item, "metadata", "name").rpartition("-")[0]
    return any(
        owner.get("controller") is True
        and text(owner, "kind") == LLM_SERVICE.kind
        and text(owner, "apiVersion") == LLM_SERVICE.api_version
        and text(owner, "name") == service
        for owner in rows(item, "metadata", "ownerReferences")
    )


def _refusal(kind: str, name: str, error: ApplyError) -> Blocker:
    if error.status in REFUSED:
        template = kind == "Deployment"
        return Blocker(
            "InvalidPodTemplate" if template else "ApplyRefused",
            f"the API server refuses {kind} {name}: {error.message}",
            stalled=True,
        )
    if error.status == 403 and OVER_QUOTA in error.message:
        words = f"a quota keeps {kind} {name} from being applied: {error.message}"
        return Blocker("InsufficientCapacity", words, stalled=True)
    if error.status == 403:
        return Blocker(
            "ApplyForbidden",
            f"the operator may not apply {kind} {name}: {error.message}",
            stalled=True,
        )
    return Blocker(
        "ApplyFailed",
        f"{kind} {name} is not applied yet, and is tried again: {error.message or error.reason}",
        stalled=False,
    )
