"""What both kinds share: the base model, the bounds of CRD fields, and object metadata.

Field names are camelCase in manifests and snake_case here. No tunable has a default: None means
absent, and the router's configuration says what absence means, so that no default freezes in stored
objects.
"""

from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, Strict

API_VERSION = "steelyard.io/v1alpha1"
DEFAULT_NAMESPACE = "default"

_SERVER_OWNED = frozenset({
    "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
    "managedFields", "ownerReferences", "resourceVersion", "selfLink",
})  # fmt: skip
"""Written by the API server; accepted so that `kubectl get -o yaml` output is a manifest too."""


def camel(name: str) -> str:
    """snake_case to camelCase, with a digit's letter left alone: e2e_percent -> e2ePercent."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class Model(BaseModel):
    """Base of all API models: immutable, camelCase, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=camel)


def _drop_server_owned(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: part for key, part in value.items() if key not in _SERVER_OWNED}


Int = Annotated[int, Strict()]
Count = Annotated[Int, Field(ge=0, le=2**53)]
Positive = Annotated[Int, Field(ge=1, le=2**53)]
Milliseconds = Annotated[Int, Field(ge=1, le=86_400_000)]
Seconds = Annotated[Int, Field(ge=1, le=86_400)]
Percent = Annotated[Int, Field(ge=0, le=100)]
PortNumber = Annotated[Int, Field(ge=1, le=65535)]
Label = Annotated[
    str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
]
ObjectName = Annotated[
    str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")
]
Quantity = Annotated[
    str, Field(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$")
]
Image = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s]+$")]
Untyped = dict[str, Any]
"""A part in Kubernetes' own shape, which only an API server can judge; it does, on a dry run."""


class SecretKeyRef(Model):
    """One key of a Secret of the same namespace."""

    name: ObjectName
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


class Drain(Model):
    """How long a pod that has to go may go on with what it has."""

    grace_period_seconds: Seconds | None = None


class ObjectMeta(Model):
    """The part of Kubernetes' ObjectMeta that is read here. Each kind bounds `name` itself."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    namespace: Label = DEFAULT_NAMESPACE
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str | None = None
    generation: int | None = None
    creation_timestamp: AwareDatetime | None = None


Metadata = Annotated[ObjectMeta, BeforeValidator(_drop_server_owned)]


def twice(values: list[str]) -> list[str]:
    """Values given more than once, each once, sorted."""
    return sorted({value for value in values if values.count(value) > 1})
