"""Children of services, as a test wants to look at them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import child, plan
from steelyard_router.config import RouterConfig
from support.manifests import service

Object = dict[str, Any]
Children = dict[tuple[str, str], Object]
Item = TypeVar("Item", LLMService, SLOPolicy)

UID = "11111111-2222-3333-4444-555555555555"
HF = {"uri": "hf://org/model"}
VLLM: Object = {"model": HF, "engine": {"type": "VLLM"}}
SETTINGS = child.Settings(image="steelyard:1", vllm_image="vllm:1", sglang_image="sglang:1")


def stored(name: str = "chat", *, uid: str = UID, **spec: Any) -> LLMService:
    """A service that an API server knows."""
    return with_uid(service(name, **spec), uid)


def with_uid(item: Item, uid: str) -> Item:
    metadata = item.metadata.model_copy(update={"uid": uid})
    return item.model_copy(update={"metadata": metadata})


def children(
    item: LLMService,
    *policies: SLOPolicy,
    live: Mapping[tuple[str, str], Object] | None = None,
    settings: child.Settings = SETTINGS,
) -> Children:
    (planned,) = plan([item], policies).services
    made = child.children(item, planned, live or {}, settings)
    found = {(body["kind"], body["metadata"]["name"]): body for body in made}
    assert len(found) == len(made)
    return found


def pod(made: Children, component: str) -> Object:
    """The pod spec of a component."""
    template = made["Deployment", f"chat-{component}"]["spec"]["template"]
    spec: Object = template["spec"]
    return spec


def container(made: Children, component: str) -> Object:
    (found,) = [item for item in pod(made, component)["containers"] if item["name"] == component]
    result: Object = found
    return result


def config(item: LLMService, *policies: SLOPolicy) -> RouterConfig:
    (planned,) = plan([item], policies).services
    return child.cluster_config(item, planned)
