"""What is served, and where it runs."""

from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from steelyard_router.config.base import Name, PositiveInt, Section


class EngineType(StrEnum):
    """Which adapter reads an endpoint's metrics (engines/)."""

    VLLM = "VLLM"
    SGLANG = "SGLang"
    SIMULATOR = "Simulator"
    EXTERNAL = "External"


class Endpoint(Section):
    """One inference server. `models` absent: learned from its GET /v1/models."""

    id: Name
    url: Annotated[str, Field(pattern=r"^http://[^/\s]+/?$", max_length=512)]
    engine: EngineType = EngineType.EXTERNAL
    models: tuple[str, ...] | None = None
    cache_tokens: PositiveInt | None = None
    """KV cache size in tokens; absent: read from the engine's metrics, else a default
    (engines/).
    """

    @field_validator("url")
    @classmethod
    def _has_a_usable_port(cls, url: str) -> str:
        urlsplit(url).port  # noqa: B018 -- reading it raises ValueError for one that cannot be
        return url


class ClientHints(StrEnum):
    """What x-slo-* and priority headers may do (analysis/)."""

    LOWER_ONLY = "LowerOnly"
    TRUSTED = "Trusted"
    IGNORE = "Ignore"


class Service(Section):
    """The served model and where it runs."""

    name: Name = "steelyard"
    endpoints: tuple[Endpoint, ...] = ()
    client_hints: ClientHints = ClientHints.LOWER_ONLY
    api_keys_file: str | None = None
    """One `key` or `key tenant` a line; absent: no authentication (proxy/auth)."""

    @model_validator(mode="after")
    def _unique(self) -> Self:
        ids = [endpoint.id for endpoint in self.endpoints]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"endpoint ids must be unique; given twice: {', '.join(twice)}")
        return self
