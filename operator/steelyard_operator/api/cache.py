"""Where downloaded weights are kept."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .base import Model, ObjectName, Quantity

CacheType = Literal["None", "EmptyDir", "PersistentVolumeClaim"]
Retention = Literal["Retain", "Delete"]
AccessMode = Literal["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]


class ClaimTemplate(Model):
    """A claim that is made for the service and shared by its engines."""

    size: Quantity
    storage_class_name: ObjectName | None = None
    access_modes: Annotated[tuple[AccessMode, ...], Field(min_length=1, max_length=3)] | None = None


class Cache(Model):
    """A volume for weights: none, one per pod, or one claim for all engines."""

    type: CacheType
    claim_name: ObjectName | None = None
    template: ClaimTemplate | None = None
    retention: Retention | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        named, made = self.claim_name is not None, self.template is not None
        if self.type != "PersistentVolumeClaim" and (named or made):
            raise ValueError("claimName and template need type PersistentVolumeClaim")
        if self.type == "PersistentVolumeClaim" and named == made:
            raise ValueError(
                "type PersistentVolumeClaim needs exactly one of claimName and template"
            )
        if self.retention is not None and not made:
            raise ValueError("retention needs template: a claim that you made stays yours")
        return self
