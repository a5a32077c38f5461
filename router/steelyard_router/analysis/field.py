"""Typed reads of a JSON body: each either gives what is there or says what to send instead.

Only what the router itself uses is read; the rest is the engine's to judge. Messages name fields
and types, never values, so prompt text stays out of errors.
"""

from collections.abc import Mapping

import orjson

from steelyard_router.errors import BadRequest

Body = Mapping[str, object]

_LARGE_BYTES = 2**20
_MOST_CONTAINERS = 1_000_000
"""64 MiB of `[],` would take the parser 9 s and 2 GB, and no prompt needs as many."""


def parse(body: bytes) -> dict[str, object]:
    """The JSON object that `body` holds. Nesting beyond 1,024 levels is refused by the parser."""
    if len(body) > _LARGE_BYTES and body.count(b"{") + body.count(b"[") > _MOST_CONTAINERS:
        raise BadRequest(f"The body holds more than {_MOST_CONTAINERS:,} objects and lists.")
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(
            f"The body is not valid JSON ({error}). Send one JSON object in UTF-8."
        ) from error
    if type(parsed) is not dict:
        raise BadRequest(f"The body must be a JSON object, not {_kind(parsed)}.")
    return parsed


def canonical(value: object, param: str) -> bytes:
    """`value` as compact JSON, so that equal values give equal bytes however they were written."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise BadRequest(
            f"{param} is nested too deeply. Send at most 250 levels.", param=param
        ) from error


def refuse(param: str, expected: str, got: object) -> BadRequest:
    """The error for a field of the wrong type."""
    return BadRequest(f"{param} must be {expected}, not {_kind(got)}.", param=param)


def text(body: Body, name: str) -> str | None:
    value = body.get(name)
    if value is None or type(value) is str:
        return value
    raise refuse(name, "a string", value)


def flag(body: Body, name: str) -> bool:
    value = body.get(name)
    if value is None or type(value) is bool:
        return bool(value)
    raise refuse(name, "true or false", value)


def whole(body: Body, name: str, *, least: int) -> int | None:
    """An integer of at least `least`. Beyond 64 bits the parser gives a float, close enough."""
    value = body.get(name)
    if value is None:
        return None
    if type(value) is float and abs(value) >= 2**63:
        value = int(value)
    if type(value) is not int:
        raise refuse(name, "an integer", value)
    if value < least:
        raise BadRequest(f"{name} must be at least {least}.", param=name)
    return value


def items(body: Body, name: str) -> list[object]:
    value = body.get(name)
    if isinstance(value, list):
        return value
    if value is None:
        raise missing(name)
    raise refuse(name, "a list", value)


def missing(name: str) -> BadRequest:
    return BadRequest(f"{name} is required.", param=name)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number with a fraction" if isinstance(value, float) else "a number"
