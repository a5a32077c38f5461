"""Waiting for conditions of our two kinds."""

from typing import Any

from onenode.kubectl import Kubectl

from scene.manifest import condition, is_true


def await_ready(
    kubectl: Kubectl, name: str, *, within_s: float, kind: str = "llmservice"
) -> dict[str, Any]:
    """The object once it is Ready in its newest generation."""
    return kubectl.until(
        kind, name, lambda item: is_true(item, "Ready"), within_s=within_s, what="Ready"
    )


def await_reason(
    kubectl: Kubectl, kind: str, name: str, of: str, reason: str, *, within_s: float
) -> dict[str, Any]:
    """The object once its condition `of` has that reason."""
    return kubectl.until(
        kind,
        name,
        lambda item: condition(item, of).get("reason") == reason,
        within_s=within_s,
        what=reason,
    )
