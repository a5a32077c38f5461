"""Waiting for conditions of our two kinds."""

from typing import Any

from onenode.kubectl import Kubectl

from scene.manifest import is_true


def await_ready(
    kubectl: Kubectl, name: str, *, within_s: float, kind: str = "llmservice"
) -> dict[str, Any]:
    """The object once it is Ready in its newest generation."""
    return kubectl.until(
        kind, name, lambda item: is_true(item, "Ready"), within_s=within_s, what="Ready"
    )
