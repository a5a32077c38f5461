"""What a Deployment says about itself, in the terms that a service's status needs.

A rollout is under way while condition Progressing has another reason than NewReplicaSetAvailable:
scaling and crashes after a finished rollout leave that reason alone, a new template changes it.
"""

from dataclasses import dataclass

from steelyard_operator.plan.child.record import RESTART_HASH

from .live import Live, at, condition, count, text

_FINISHED = "NewReplicaSetAvailable"
_OVERDUE = "ProgressDeadlineExceeded"
_DEFAULT_UNAVAILABLE = "25%"


@dataclass(frozen=True, slots=True)
class Rollout:
    """`required` is how many must be available: in a rollout what its strategy promises, else one,
    so that scaling up makes nothing unavailable. `unseen`: its controller has not looked yet.

    `overdue` and `refused` hold the server's words, or None. `id` names this rollout.
    """

    desired: int
    replicas: int
    updated: int
    ready: int
    available: int
    required: int
    rolling: bool
    unseen: bool
    overdue: str | None
    refused: str | None
    id: str

    @property
    def settled(self) -> bool:
        """Exactly the wanted pods are there, all of the last template and ready."""
        return (
            not self.rolling
            and not self.unseen
            and self.replicas == self.updated == self.ready == self.desired
        )


def rollout(deployment: Live) -> Rollout:
    wanted = at(deployment, "spec", "replicas")
    desired = wanted if isinstance(wanted, int) else 1
    progressing = condition(deployment, "Progressing")
    failure = condition(deployment, "ReplicaFailure")
    overdue = text(progressing, "reason") == _OVERDUE
    rolling = not overdue and text(progressing, "reason") != _FINISHED
    unseen = count(deployment, "status", "observedGeneration") < count(
        deployment, "metadata", "generation"
    )
    return Rollout(
        desired=desired,
        replicas=count(deployment, "status", "replicas"),
        updated=count(deployment, "status", "updatedReplicas"),
        ready=count(deployment, "status", "readyReplicas"),
        available=count(deployment, "status", "availableReplicas"),
        required=max(1, desired - _may_be_missing(deployment, desired)) if rolling else 1,
        rolling=rolling,
        unseen=unseen,
        overdue=text(progressing, "message") if overdue and not unseen else None,
        refused=text(failure, "message") if failure.get("status") == "True" else None,
        id=_id(deployment),
    )


def selector(deployment: Live) -> str:
    """As /scale gives it to autoscalers."""
    labels = at(deployment, "spec", "selector", "matchLabels")
    pairs = labels.items() if isinstance(labels, dict) else ()
    return ",".join(f"{key}={value}" for key, value in sorted(pairs))


def _id(deployment: Live) -> str:
    """By what we wrote: the controller numbers its revisions a moment later, so that the same
    rollout would have two names.
    """
    template = text(deployment, "metadata", "annotations", RESTART_HASH)
    return f"{text(deployment, 'metadata', 'uid')}/{template}"


def _may_be_missing(deployment: Live, desired: int) -> int:
    strategy = at(deployment, "spec", "strategy")
    if text(strategy, "type") == "Recreate":
        return 0
    allowed = at(strategy, "rollingUpdate", "maxUnavailable")
    if isinstance(allowed, int):
        return allowed
    share = allowed if isinstance(allowed, str) else _DEFAULT_UNAVAILABLE
    digits = share.removesuffix("%")
    return desired * int(digits) // 100 if digits.isdecimal() else 0
