"""Environment variables of a container, in the shape of Kubernetes."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from .base import Model, Untyped, twice


class EnvVar(Model):
    """A value, or where the cluster finds it (`valueFrom`, as in a pod)."""

    name: Annotated[
        str, Field(min_length=1, max_length=256, pattern=r"^[-._a-zA-Z][-._a-zA-Z0-9]*$")
    ]
    value: Annotated[str, Field(max_length=32768)] | None = None
    value_from: Untyped | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.value is not None and self.value_from is not None:
            raise ValueError("give at most one of value and valueFrom")
        return self


def _unique(env: Sequence[EnvVar]) -> Sequence[EnvVar]:
    if again := twice([variable.name for variable in env]):
        raise ValueError(f"names must be unique; given twice: {', '.join(again)}")
    return env


Env = Annotated[tuple[EnvVar, ...], Field(max_length=128), AfterValidator(_unique)]
