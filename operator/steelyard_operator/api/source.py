"""Which model is served, and where its weights come from."""

import re
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from .base import Model, SecretKeyRef

_HUB = r"hf://[-._0-9A-Za-z]+(/[-._0-9A-Za-z]+)?"
_CLAIM = r"pvc://[a-z0-9]([-.a-z0-9]*[a-z0-9])?(/[^ \t\r\n]*)?"
_FILE = r"file:///[^ \t\r\n]*"
_URI = re.compile(f"{_HUB}|{_CLAIM}|{_FILE}")


class ModelSource(Model):
    """`name` is what clients ask for.

    Absent, it is metadata.name; for External engines, whatever they say they serve.
    """

    uri: Annotated[str, Field(max_length=1024)] | None = None
    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^\S+$")] | None = None
    revision: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^\S+$")] | None = None
    token_secret_ref: SecretKeyRef | None = None

    @field_validator("uri")
    @classmethod
    def _known_scheme(cls, uri: str | None) -> str | None:
        if uri is not None and not _URI.fullmatch(uri):
            raise ValueError("must be hf://org/model, pvc://claim/path or file:///path")
        return uri

    @model_validator(mode="after")
    def _hub_only(self) -> Self:
        hub = self.uri is not None and self.uri.startswith("hf://")
        if not hub and (self.revision is not None or self.token_secret_ref is not None):
            raise ValueError("revision and tokenSecretRef need a uri of the form hf://org/model")
        return self
