"""Objects as a manifest would give them, with one part changed at a time."""

from typing import Any

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy

Tree = dict[str, Any]


def service(name: str = "chat", *, namespace: str = "default", **spec: object) -> LLMService:
    return LLMService.model_validate(
        {
            "apiVersion": "steelyard.io/v1alpha1",
            "kind": "LLMService",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"engine": {"type": "Simulator"}, **spec},
        }
    )


def policy(
    name: str = "fast",
    *,
    targets: tuple[str, ...] = ("chat",),
    namespace: str = "default",
    created: str | None = None,
    **spec: object,
) -> SLOPolicy:
    return SLOPolicy.model_validate(
        {
            "apiVersion": "steelyard.io/v1alpha1",
            "kind": "SLOPolicy",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": created},
            "spec": {
                "targetRefs": [{"name": target} for target in targets],
                "workloads": [{"name": "all", "default": True}],
                **spec,
            },
        }
    )
