"""Says what is wrong with a field in words for its author, and what was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from .position import Location


def reason(error: ErrorDetails, model: type[BaseModel]) -> str:
    """One sentence for one pydantic error of `model`."""
    match error["type"]:
        case "extra_forbidden":
            name = str(error["loc"][-1])
            return f"unknown field{suggestion(name, _fields(model, error['loc'][:-1]))}"
        case "missing":
            return "is required"
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "string_type":
            return f"must be a string, not {error['input']!r}; put it in quotes"
        case _:
            text = error["msg"].removeprefix("Input ")
            return f"{text[:1].lower()}{text[1:]}, not {_short(error['input'])}"


def is_consequence(error: ErrorDetails) -> bool:
    """Whether a list is called too short only because its bad items do not count."""
    if error["type"] != "too_short" or not isinstance(error["input"], list):
        return False
    least: int = error["ctx"]["min_length"]
    return len(error["input"]) >= least


def suggestion(name: str, known: Iterable[str]) -> str:
    """'; did you mean ...?', or the list of what is known."""
    names = sorted(known)
    if close := get_close_matches(name, names, n=1):
        return f"; did you mean `{close[0]}`?"
    return f"; known: {', '.join(names)}"


def dotted(location: Location) -> str:
    """('spec', 'workloads', 0, 'name') -> spec.workloads[0].name."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _fields(model: type[BaseModel], location: Location) -> set[str]:
    for part in location:
        if isinstance(part, int):
            continue
        field = next((f for f in model.model_fields.values() if f.alias == part), None)
        inner = None if field is None else nested_model(field.annotation)
        if inner is None:
            return set()
        model = inner
    return {field.alias or name for name, field in model.model_fields.items()}


def nested_model(annotation: object) -> type[BaseModel] | None:
    """The first model inside an annotation such as tuple[Alert, ...] | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (nested_model(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
