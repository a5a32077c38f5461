"""The inference servers of a service."""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from .base import Drain, Image, Label, Model, PortNumber, Quantity, Seconds, Untyped, twice
from .env import Env

EngineType = Literal["VLLM", "SGLang", "Simulator", "External"]
PullPolicy = Literal["Always", "IfNotPresent", "Never"]

OWNED_ARGS = ("--host", "--port", "--model", "--served-model-name")
"""Engine arguments that follow from other fields; the router must know their values."""

_PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_PORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_URL = re.compile(rf"http://([-._a-zA-Z0-9]+|\[[0-9a-fA-F:.]+\])(:{_PORT})?/?")

Url = Annotated[str, Field(max_length=300)]
Argument = Annotated[str, Field(max_length=4096)]


def authority(url: str) -> str:
    """host:port of an http URL, with the port always given. Raises ValueError for a bad port."""
    parts = urlsplit(url)
    return f"{parts.netloc.removesuffix(f':{parts.port}')}:{parts.port or 80}"


class ServiceRef(Model):
    """A Service of the same namespace before engines that someone else runs; needs a cluster.

    `port` is the name of a port of the Service, or the number that its pods listen on.
    """

    name: Label
    port: int | str

    @field_validator("port", mode="before")
    @classmethod
    def _name_or_number(cls, port: object) -> object:
        if type(port) is int and 1 <= port <= 65535:
            return port
        if isinstance(port, str) and _PORT_NAME.fullmatch(port):
            return port
        raise ValueError(
            "must be the name of one of the Service's ports, or the number that its pods listen "
            "on (1 to 65535)"
        )


class Engine(Model):
    """The inference server. External means that someone else runs it: the router alone is ours."""

    type: EngineType
    image: Image | None = None
    image_pull_policy: PullPolicy | None = None
    args: Annotated[tuple[Argument, ...], Field(max_length=128)] = ()
    env: Env = ()
    resources: Untyped | None = None
    port: PortNumber | None = None
    shared_memory_size: Quantity | None = None
    startup_timeout_seconds: Seconds | None = None
    drain: Drain | None = None
    pod_template: Untyped | None = None
    urls: Annotated[tuple[Url, ...], Field(min_length=1, max_length=64)] | None = None
    service_ref: ServiceRef | None = None

    @field_validator("args")
    @classmethod
    def _owned_args(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        if any(arg.split("=")[0] in OWNED_ARGS for arg in args):
            raise ValueError(
                f"{', '.join(OWNED_ARGS)} are set by Steelyard; leave them out (the served name is "
                "model.name, the model is model.uri, the port is engine.port)"
            )
        return args

    @field_validator("urls")
    @classmethod
    def _usable_urls(cls, urls: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if not all(_URL.fullmatch(url) for url in urls or ()):
            raise ValueError("each must be http://host:port, without a path")
        if again := twice([authority(url) for url in urls or ()]):
            raise ValueError(f"urls must be unique; given twice: {', '.join(again)}")
        return urls

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        where = {"urls", "service_ref"}
        given = {name for name in self.model_fields_set if getattr(self, name) not in (None, ())}
        if self.type != "External":
            if given & where:
                raise ValueError("urls and serviceRef need type External")
        elif len(given & where) != 1:
            raise ValueError("type External needs exactly one of urls and serviceRef")
        elif given - where - {"type"}:
            raise ValueError(
                "type External takes only urls or serviceRef: nothing else has an effect on "
                "engines that someone else runs"
            )
        return self
