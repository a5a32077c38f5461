"""Lays a podTemplate over the template that we would have made.

Maps are merged deep. Lists whose items have names are merged by name (mounts by their path, since
one volume may be mounted twice); other lists are replaced. A null takes a key away. Neither input
is changed, and the result shares nothing with them.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

KEYS = ("mountPath", "devicePath", "name")
"""What tells items of a list apart; the first that every item has."""


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: deepcopy(value) for key, value in base.items() if over.get(key, 0) is not None}
    for key, value in over.items():
        if value is not None:
            result[key] = _value(result.get(key), value)
    return result


def _value(base: Any, over: Any) -> Any:  # noqa: ANN401 -- JSON, and JSON again
    if isinstance(over, Mapping):
        return merged(base if isinstance(base, Mapping) else {}, over)
    if isinstance(base, list) and isinstance(over, list):
        key = _key([*base, *over])
        if key is not None and base:
            return _by_key(base, over, key)
    return deepcopy(over)


def _key(items: Sequence[Any]) -> str | None:
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    return next((key for key in KEYS if all(_is_name(item.get(key)) for item in items)), None)


def _is_name(value: object) -> bool:
    return isinstance(value, str)


def _by_key(base: Sequence[Any], over: Sequence[Any], key: str) -> list[Any]:
    result: dict[str, Any] = {item[key]: deepcopy(item) for item in base}
    for item in over:
        result[item[key]] = merged(result.get(item[key], {}), item)
    return list(result.values())
