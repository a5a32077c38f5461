"""The pod template of an engine, as this version of the operator makes it."""

from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import Object

from . import drain_script, engine_command, security, volume
from .manifest import labels
from .name import ENGINE, HTTP
from .patience import SETTLE_S, engine_drain_s, engine_grace_s, startup_s
from .pod import image, pod_template, present
from .probe import engine_probes
from .settings import Settings
from .volume import Volume

RESTART = "steelyard.io/restart-token"
"""On the pods, so that a new token makes new ones."""


def engine_template(service: LLMService, settings: Settings) -> Object:
    """Pod metadata and spec, with the user's podTemplate laid over them."""
    simulated = service.spec.engine.type == "Simulator"
    volumes = _volumes(service)
    spec = present(
        automountServiceAccountToken=False,
        terminationGracePeriodSeconds=engine_grace_s(service),
        securityContext=security.restricted_pod() if simulated else security.accelerated_pod(),
        containers=[_container(service, settings, volumes)],
        volumes=[item.volume for item in volumes],
    )
    token = service.spec.restart_token
    metadata = present(
        labels=labels(service, ENGINE), annotations=None if token is None else {RESTART: token}
    )
    return pod_template(metadata, spec, service.spec.engine.pod_template)


def _container(service: LLMService, settings: Settings, volumes: list[Volume]) -> Object:
    engine = service.spec.engine
    simulated = engine.type == "Simulator"
    program, *args = engine_command.command(service)
    port = {"name": HTTP, "containerPort": engine_command.port(service), "protocol": "TCP"}
    return present(
        name=ENGINE,
        **image(engine.image or _image(service, settings), engine.image_pull_policy, settings),
        command=[program],
        args=[*args, *engine.args],  # never empty: ours, so that nobody else's arguments stay
        env=engine_command.environment(service),
        ports=[port],
        resources=engine.resources,
        **engine_probes(HTTP, startup_s=startup_s(service), period_s=1 if simulated else 5),
        lifecycle={"preStop": {"exec": {"command": _pre_stop(service)}}},
        securityContext=(
            security.restricted_container() if simulated else security.accelerated_container()
        ),
        volumeMounts=[item.mount for item in volumes],
    )


def _image(service: LLMService, settings: Settings) -> str:
    match service.spec.engine.type:
        case "VLLM":
            return settings.vllm_image
        case "SGLang":
            return settings.sglang_image
        case _:
            return settings.image


def _pre_stop(service: LLMService) -> list[str]:
    return drain_script.command(
        port=engine_command.port(service), settle_s=SETTLE_S, limit_s=engine_drain_s(service)
    )


def _volumes(service: LLMService) -> list[Volume]:
    wanted = (
        volume.scratch() if service.spec.engine.type == "Simulator" else None,
        volume.model_claim(service),
        volume.cache(service),
        volume.shared_memory(service),
    )
    return [item for item in wanted if item is not None]
