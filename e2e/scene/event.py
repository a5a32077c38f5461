"""Events of an object, and what `kubectl describe` makes of them."""

from typing import Any

from onenode.kubectl import Kubectl


def events(kubectl: Kubectl, name: str, *, reason: str | None = None) -> list[dict[str, Any]]:
    """Events about objects of that name, oldest first."""
    found = kubectl.list("events", arguments=["--field-selector", f"involvedObject.name={name}"])
    wanted = [each for each in found if reason is None or each["reason"] == reason]
    return sorted(wanted, key=lambda each: each.get("firstTimestamp") or "")


def counts(kubectl: Kubectl) -> dict[tuple[str, str, str], int]:
    """(kind, name, reason) -> how often, of all Events about our two kinds."""
    found: dict[tuple[str, str, str], int] = {}
    for each in kubectl.list("events"):
        about = each["involvedObject"]
        if about["kind"] in {"LLMService", "SLOPolicy"}:
            key = (about["kind"], about["name"], each["reason"])
            found[key] = found.get(key, 0) + each.get("count", 1)
    return found
