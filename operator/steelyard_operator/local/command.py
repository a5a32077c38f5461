"""The command line of an engine on this machine, or why there is none."""

import shutil

from steelyard_operator.errors import LocalError
from steelyard_operator.plan import EngineProcess, Plan, ServicePlan
from steelyard_router.config import EngineType

from .settings import Settings

HOST = "127.0.0.1"
"""Engines listen here: only the router talks to them."""

STARTUP_S = {EngineType.SIMULATOR: 60.0, EngineType.VLLM: 1800.0}
"""A simulated engine is there at once; a real one loads (or downloads) weights and compiles."""


def find_vllm(given: str | None) -> str | None:
    """The vLLM to run: the given one, else that on PATH."""
    return given or shutil.which("vllm")


def engine_command(engine: EngineProcess, port: int | str, settings: Settings) -> list[str]:
    """Raises LocalError with what to do."""
    listen = ["--host", HOST, "--port", str(port)]
    match engine.type:
        case EngineType.SIMULATOR:
            head = [*settings.steelyard, "engine", *listen, "--model", engine.model]
        case EngineType.VLLM:
            if settings.vllm is None:
                raise LocalError(
                    f"{engine.name}: engine type VLLM needs vllm: install it (pip install vllm), "
                    "or name it with --vllm-bin; engine type Simulator needs nothing"
                )
            model = _local_model(engine)
            head = [settings.vllm, "serve", model, *listen, "--served-model-name", engine.model]
            if engine.revision is not None:
                head += ["--revision", engine.revision]
        case _:
            raise LocalError(
                f"{engine.name}: engine type {engine.type} is not run on one machine; start it "
                "yourself and use type External with its URL, or use VLLM or Simulator"
            )
    return [*head, *engine.args]


def router_command(config: str, settings: Settings) -> list[str]:
    return [*settings.steelyard, "router", "--config", config]


def check(plan: Plan, settings: Settings) -> list[str]:
    """Everything in the plan that this machine cannot run."""
    refusals = [text for service in plan.services for text in _refusals(service, settings)]
    return list(dict.fromkeys(refusals))


def _refusals(service: ServicePlan, settings: Settings) -> list[str]:
    found = []
    if service.service_ref is not None:
        found.append(
            f"{service.key.name}: engine.serviceRef needs a cluster; give engine.urls instead"
        )
    if service.router.service.api_keys_file is not None:
        found.append(
            f"{service.key.name}: router.apiKeySecretRef needs a cluster; leave it out here "
            "(the router of `steelyard up` listens on loopback unless told otherwise)"
        )
    for engine in service.engines[:1]:  # replicas are alike
        if engine.cluster_env:
            names = ", ".join(engine.cluster_env)
            found.append(
                f"{engine.name}: engine.env valueFrom needs a cluster ({names}); "
                "give the variable a value, or leave it out and set it before `steelyard up`"
            )
        try:
            engine_command(engine, 0, settings)
        except LocalError as error:
            found.append(str(error))
    return found


def _local_model(engine: EngineProcess) -> str:
    scheme, _, rest = (engine.uri or "").partition("://")
    if scheme == "pvc":
        raise LocalError(
            f"{engine.name}: model.uri pvc:// needs a cluster; use hf://org/model or file:///path"
        )
    return rest
