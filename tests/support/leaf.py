"""The fields of a configuration, walked, so that a new one is in no list by itself."""

from collections.abc import Iterator

from pydantic import BaseModel

from steelyard_operator.api.reason import nested_model


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Dotted names of all fields that hold no fields themselves."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner = nested_model(field.annotation)
        if inner is None:
            yield path
        else:
            yield from leaves(inner, f"{path}.")
