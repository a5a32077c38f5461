"""The engines of a service: processes to run, or endpoints that someone else runs."""

import hashlib
import re
from dataclasses import dataclass

from steelyard_operator.api.engine import authority
from steelyard_operator.api.llmservice import LLMService
from steelyard_router.config import Endpoint, EngineType

DEFAULT_REPLICAS = 1

_PLAIN = re.compile(r"[A-Za-z0-9][-.A-Za-z0-9]{0,56}:\d{1,5}")


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """One inference server to run. Where it listens is for whoever runs it to decide.

    `model` is the served name; `uri` says where the weights are and is None where none are needed.
    `cluster_env` are the variables whose values only a cluster can find.
    """

    name: str
    type: EngineType
    model: str
    uri: str | None
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    revision: str | None = None
    cluster_env: tuple[str, ...] = ()

    def endpoint(self, url: str) -> Endpoint:
        """How the router sees this engine at `url`; which models it serves is asked there."""
        return Endpoint(id=self.name, url=url, engine=self.type)


def engines(service: LLMService) -> tuple[EngineProcess, ...]:
    """`<service>-0`, `<service>-1`, ...; none for External."""
    engine = service.spec.engine
    if engine.type == "External":
        return ()
    replicas = service.spec.replicas
    return tuple(
        EngineProcess(
            name=f"{service.metadata.name}-{index}",
            type=EngineType(engine.type),
            model=service.served_name,
            uri=service.spec.model.uri if engine.type != "Simulator" else None,
            args=engine.args,
            env=tuple((item.name, item.value or "") for item in engine.env if not item.value_from),
            revision=service.spec.model.revision if engine.type != "Simulator" else None,
            cluster_env=tuple(item.name for item in engine.env if item.value_from),
        )
        for index in range(DEFAULT_REPLICAS if replicas is None else replicas)
    )


def external_endpoints(service: LLMService) -> tuple[Endpoint, ...]:
    """The endpoints of engine.urls. Without model.name the router asks each for its models."""
    name = service.spec.model.name
    return tuple(
        Endpoint(id=_id(url), url=url, models=None if name is None else (name,))
        for url in service.spec.engine.urls or ()
    )


def _id(url: str) -> str:
    """host-port, so that an instance keeps its id when the list is reordered."""
    place = authority(url)
    if _PLAIN.fullmatch(place):
        return place.replace(":", "-")
    return f"external-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
