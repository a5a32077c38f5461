"""What containers may do: nothing that they do not need."""

from copy import deepcopy

from steelyard_router.kube.resource import Object

USER = 65532
_NO_PRIVILEGES: Object = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_SECCOMP: Object = {"seccompProfile": {"type": "RuntimeDefault"}}


def restricted_pod() -> Object:
    """For our own image."""
    user = {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER}
    return user | deepcopy(_SECCOMP)


def restricted_container() -> Object:
    """The image is read only; what has to be written goes to /tmp."""
    return deepcopy(_NO_PRIVILEGES) | {"readOnlyRootFilesystem": True}


def accelerated_pod() -> Object:
    """Engines' images run as they choose, often as root."""
    return deepcopy(_SECCOMP)


def accelerated_container() -> Object:
    """The root stays writable: device hooks write there when the container starts."""
    return deepcopy(_NO_PRIVILEGES)
