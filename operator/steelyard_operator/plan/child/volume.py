"""Volumes of a pod, each with where it is mounted.

Sizes are passed on as they are written: an API server stores them in its own form and knows that
both are equal.
"""

import re
from dataclasses import dataclass

from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import Object

from .name import cache_name

MODEL_DIR = "/models"
CACHE_DIR = "/cache"
SHARED_MEMORY = "8Gi"
"""A limit and no reservation: tensor-parallel workers and their allreduce buffers live there."""

_ZERO = re.compile(r"0+(\.0+)?[a-zA-Z]*")


@dataclass(frozen=True, slots=True)
class Volume:
    """A pod's volume: `source` is what it is, `path` where the container sees it."""

    name: str
    path: str
    source: Object
    read_only: bool = False

    @property
    def volume(self) -> Object:
        return {"name": self.name, **self.source}

    @property
    def mount(self) -> Object:
        mount: Object = {"name": self.name, "mountPath": self.path}
        return mount | {"readOnly": True} if self.read_only else mount


def scratch() -> Volume:
    """All that can be written in our own image."""
    return Volume("tmp", "/tmp", {"emptyDir": {}})  # noqa: S108 -- a path in the pod


def model_claim(service: LLMService) -> Volume | None:
    """The claim that a pvc:// uri names."""
    scheme, _, rest = (service.spec.model.uri or "").partition("://")
    if scheme != "pvc" or service.spec.engine.type == "Simulator":
        return None
    claim = {"claimName": rest.partition("/")[0], "readOnly": True}
    return Volume("model", MODEL_DIR, {"persistentVolumeClaim": claim}, read_only=True)


def cache(service: LLMService) -> Volume | None:
    """Where downloads are kept.

    Without a word in the spec, engines that download keep it for the life of their pod, so that a
    crash does not download again.
    """
    spec = service.spec.cache
    if spec is None:
        downloads = (service.spec.model.uri or "").startswith("hf://")
        if not downloads or service.spec.engine.type == "Simulator":
            return None
        return Volume("cache", CACHE_DIR, {"emptyDir": {}})
    match spec.type:
        case "None":
            return None
        case "EmptyDir":
            return Volume("cache", CACHE_DIR, {"emptyDir": {}})
        case "PersistentVolumeClaim":
            name = spec.claim_name or cache_name(service.metadata.name)
            return Volume("cache", CACHE_DIR, {"persistentVolumeClaim": {"claimName": name}})


def shared_memory(service: LLMService) -> Volume | None:
    """Container runtimes make it far too small for several GPUs."""
    size = service.spec.engine.shared_memory_size
    if size is None and service.spec.engine.type != "Simulator":
        size = SHARED_MEMORY
    if size is None or _ZERO.fullmatch(size):
        return None
    return Volume("shm", "/dev/shm", {"emptyDir": {"medium": "Memory", "sizeLimit": size}})  # noqa: S108
