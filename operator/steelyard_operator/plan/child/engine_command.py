"""How each engine is started in its image, and with which variables."""

from collections.abc import Sequence
from typing import assert_never

from steelyard_operator.api.env import EnvVar
from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import Object

from .name import ENGINE_PORT
from .volume import CACHE_DIR, MODEL_DIR, cache


def port(service: LLMService) -> int:
    return service.spec.engine.port or ENGINE_PORT


def command(service: LLMService) -> list[str]:
    """Everything before the user's own args."""
    serve = ["--host", "0.0.0.0", "--port", str(port(service))]
    name = ["--served-model-name", service.served_name]
    engine = service.spec.engine.type
    match engine:
        case "VLLM":
            return ["vllm", "serve", weights(service), *name, *serve, *_revision(service)]
        case "SGLang":
            # Its metrics, which the router and the drain read, are off by default.
            launch = ["python3", "-m", "sglang.launch_server", "--model-path", weights(service)]
            return [*launch, *name, *serve, *_revision(service), "--enable-metrics"]
        case "Simulator":
            return ["steelyard", "engine", *serve, "--model", service.served_name]
        case "External":
            raise ValueError("engines that someone else runs have no command")
        case _:
            assert_never(engine)


def weights(service: LLMService) -> str:
    """What the engine loads: a name on the hub, or a folder that the container sees."""
    scheme, _, rest = (service.spec.model.uri or "").partition("://")
    if scheme != "pvc":
        return rest
    folder = rest.partition("/")[2].strip("/")
    return f"{MODEL_DIR}/{folder}" if folder else MODEL_DIR


def _revision(service: LLMService) -> list[str]:
    revision = service.spec.model.revision
    return [] if revision is None else ["--revision", revision]


def environment(service: LLMService) -> list[Object]:
    """Ours, then the user's: theirs may use ours, and replaces ours."""
    found: list[Object] = []
    token = service.spec.model.token_secret_ref
    if token is not None and service.spec.engine.type != "Simulator":
        key = {"name": token.name, "key": token.key}
        found.append({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": key}})
    if cache(service) is not None:
        found.append({"name": "HF_HOME", "value": f"{CACHE_DIR}/huggingface"})
    return overlaid(found, service.spec.engine.env)


def overlaid(ours: Sequence[Object], theirs: Sequence[EnvVar]) -> list[Object]:
    result = {item["name"]: item for item in ours}
    for variable in theirs:
        given = variable.model_dump(mode="json", by_alias=True, exclude_none=True)
        result.pop(variable.name, None)
        result[variable.name] = given
    return list(result.values())
