"""What the operator itself decides about children: images, and the role that routers get.

Everything here changes with the operator's version. None of it may restart an engine that runs:
see record.
"""

from dataclasses import dataclass
from importlib.metadata import version

STEELYARD_IMAGE = f"steelyard:{version('steelyard')}"
VLLM_IMAGE = "vllm/vllm-openai:v0.32.0"
SGLANG_IMAGE = "lmsysorg/sglang:v0.5.23"
ROUTER_CLUSTER_ROLE = "steelyard-router"


@dataclass(frozen=True, slots=True)
class Settings:
    """`image` runs routers and simulated engines; `image_pull_policy` is for it alone."""

    image: str = STEELYARD_IMAGE
    image_pull_policy: str | None = None
    vllm_image: str = VLLM_IMAGE
    sglang_image: str = SGLANG_IMAGE
    router_cluster_role: str = ROUTER_CLUSTER_ROLE
