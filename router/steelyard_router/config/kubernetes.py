"""What only a router in a cluster is told."""

from typing import Annotated

from pydantic import Field

from steelyard_router.config.base import Name, Section
from steelyard_router.config.service import EngineType


class ObjectRef(Section):
    """An object of the cluster that Events are about (alerts/, cluster/)."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    uid: Annotated[str, Field(min_length=1, max_length=128)]


class Kubernetes(Section):
    """Where the router finds the rest of itself in a cluster; only there (cluster/)."""

    namespace: Name
    engine_service: Name | None = None
    """Whose EndpointSlices are the engines; absent: only service.endpoints."""
    engine_port: Annotated[int, Field(gt=0, le=65535)] | Name = "http"
    """Name or number of the slices' port."""
    engine: EngineType = EngineType.EXTERNAL
    models: tuple[str, ...] | None = None
    """Of every engine found; absent: learned from each."""
    config_map: Name
    """This configuration's own source, followed through the API as well."""
    router_service: Name
    """Whose EndpointSlices are the router's replicas."""
    lease: Name
    """Held by the replica that reports alerts."""
    service: ObjectRef
    """The LLMService."""
