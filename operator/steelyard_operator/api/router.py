"""The router in front of a service's engines."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Drain, Image, Int, Model, PortNumber, SecretKeyRef, Untyped
from .env import Env
from .routing import Routing

ClientHints = Literal["LowerOnly", "Trusted", "Ignore"]
ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer"]
Annotation = Annotated[str, Field(max_length=8192)]


class RouterService(Model):
    """The Service that clients use."""

    type: ServiceType | None = None
    port: PortNumber | None = None
    annotations: Annotated[dict[str, Annotation], Field(max_length=64)] | None = None


class Router(Model):
    """The router's pods, its Service and what its clients may do.

    There are no `args`: every flag of the router follows from other fields.
    """

    replicas: Annotated[Int, Field(ge=1, le=100)] | None = None
    image: Image | None = None
    env: Env = ()
    resources: Untyped | None = None
    pod_template: Untyped | None = None
    service: RouterService = RouterService()
    api_key_secret_ref: SecretKeyRef | None = None
    drain: Drain | None = None
    defaults: Routing | None = None
    client_hints: ClientHints | None = None
