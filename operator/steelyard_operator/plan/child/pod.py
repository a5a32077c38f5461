"""What pod templates of both components share."""

from collections.abc import Mapping
from typing import Any

from steelyard_router.kube.resource import Object

from .merge import merged
from .settings import Settings


def present(**parts: Any) -> Object:  # noqa: ANN401 -- JSON
    """Only the parts that say something: an API server would drop the others, and differ."""
    return {name: part for name, part in parts.items() if part not in (None, [], {})}


def image(name: str, pull_policy: str | None, settings: Settings) -> Object:
    """The operator's pull policy is for the operator's image."""
    if pull_policy is None and name == settings.image:
        pull_policy = settings.image_pull_policy
    return present(image=name, imagePullPolicy=pull_policy)


def pod_template(metadata: Object, spec: Object, over: Mapping[str, Any] | None) -> Object:
    """With the user's podTemplate laid over it, all but our labels: selectors need them."""
    # Links are variables such as VLLM_PORT, from Services that happen to be there; engines read
    # them as settings of their own.
    base = {"metadata": metadata, "spec": {"enableServiceLinks": False, **spec}}
    return merged(merged(base, over or {}), {"metadata": metadata})
