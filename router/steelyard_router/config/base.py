"""What all sections of the configuration are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[
    str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$")
]
PositiveFloat = Annotated[float, Field(gt=0)]
PositiveInt = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """Base of all sections: immutable, and an unknown key is an error rather than a silent
    nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
