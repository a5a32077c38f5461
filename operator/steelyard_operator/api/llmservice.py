"""LLMService: what to serve."""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from .base import Int, Label, Metadata, Model, ObjectMeta, twice

EngineType = Literal["VLLM", "SGLang", "Simulator", "External"]
ClientHints = Literal["LowerOnly", "Trusted", "Ignore"]

OWNED_ARGS = ("--host", "--port", "--model", "--served-model-name")
"""Engine arguments that follow from other fields; the router must know their values."""

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")

Url = Annotated[str, Field(max_length=512, pattern=r"^http://[^/\s]+/?$")]
Argument = Annotated[str, Field(max_length=4096)]


def authority(url: str) -> str:
    """host:port of an http URL, with the port always given. Raises ValueError for a bad port."""
    parts = urlsplit(url)
    return f"{parts.netloc.removesuffix(f':{parts.port}')}:{parts.port or 80}"


class ModelSource(Model):
    """Which model. `name` is what clients ask for.

    Absent, it is metadata.name; for External engines, whatever they say they serve.
    """

    uri: Annotated[str, Field(max_length=1024, pattern=r"^(hf|pvc|file)://\S+$")] | None = None
    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^\S+$")] | None = None


class EnvVar(Model):
    """An environment variable of the engine, in the shape of Kubernetes."""

    name: Annotated[str, Field(max_length=256, pattern=r"^[-._a-zA-Z][-._a-zA-Z0-9]*$")]
    value: Annotated[str, Field(max_length=32768)] = ""


class ServiceRef(Model):
    """A Service of the same namespace before engines that someone else runs; needs a cluster."""

    name: Label
    port: Annotated[Int, Field(ge=1, le=65535)]


class Engine(Model):
    """The inference server. External means that someone else runs it: the router alone is ours."""

    type: EngineType
    args: Annotated[tuple[Argument, ...], Field(max_length=128)] = ()
    env: Annotated[tuple[EnvVar, ...], Field(max_length=128)] = ()
    urls: Annotated[tuple[Url, ...], Field(min_length=1, max_length=64)] | None = None
    service_ref: ServiceRef | None = None

    @field_validator("args")
    @classmethod
    def _owned_args(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        if owned := [arg for arg in args if arg.split("=")[0] in OWNED_ARGS]:
            raise ValueError(
                f"{', '.join(owned)} is set by Steelyard; leave it out "
                "(the served name is model.name, the model is model.uri)"
            )
        return args

    @field_validator("urls")
    @classmethod
    def _unique_urls(cls, urls: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if again := twice([authority(url) for url in urls or ()]):
            raise ValueError(f"given twice: {', '.join(again)}")
        return urls

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.type != "External":
            if self.urls is not None or self.service_ref is not None:
                raise ValueError(f"urls and serviceRef need type External, not {self.type}")
        elif (self.urls is None) == (self.service_ref is None):
            raise ValueError("type External needs exactly one of urls and serviceRef")
        elif self.args or self.env:
            raise ValueError("args and env have no effect on engines that someone else runs")
        return self


class Router(Model):
    """The service's router. `clientHints` says what x-slo-* and priority headers may do."""

    client_hints: ClientHints | None = None


class LLMServiceSpec(Model):
    """Replicas absent: one at run time."""

    model: ModelSource = ModelSource()
    engine: Engine
    replicas: Annotated[Int, Field(ge=0, le=1000)] | None = None
    router: Router = Router()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.engine.type == "External" and self.replicas is not None:
            raise ValueError(
                "replicas has no effect on engines that someone else runs; leave it out"
            )
        if self.engine.type in {"VLLM", "SGLang"} and self.model.uri is None:
            raise ValueError(
                f"engine type {self.engine.type} needs model.uri, for example hf://org/model"
            )
        return self


class LLMService(Model):
    """One served model: engines and the router in front of them."""

    api_version: Literal["steelyard.io/v1alpha1"]
    kind: Literal["LLMService"]
    metadata: Metadata
    spec: LLMServiceSpec
    status: Any = None
    """Accepted and not read: what a cluster wrote there says nothing about what is wanted."""

    @field_validator("metadata")
    @classmethod
    def _short_name(cls, metadata: ObjectMeta) -> ObjectMeta:
        if not _NAME.fullmatch(metadata.name):
            raise ValueError(
                f"name {metadata.name!r} becomes part of Service and label names: it must start "
                "with a letter and have at most 40 of a-z, 0-9 and '-'"
            )
        return metadata

    @property
    def served_name(self) -> str:
        """The model name that clients ask for."""
        return self.spec.model.name or self.metadata.name
