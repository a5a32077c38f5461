"""Reads objects as the API server has them, where every part may be missing.

Statuses are written by many hands: what is absent or of another shape reads as absent, so that
no object, however odd, stops a status from being written.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]
Live = Mapping[str, Any]


def at(tree: object, *path: str) -> Any:  # noqa: ANN401 -- whatever the server has there
    """What lies at `path`; None where a part is missing."""
    for name in path:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(name)
    return tree


def text(tree: object, *path: str) -> str:
    found = at(tree, *path)
    return found if isinstance(found, str) else ""


def count(tree: object, *path: str) -> int:
    found = at(tree, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def rows(tree: object, *path: str) -> Iterator[Live]:
    """The objects of a list."""
    found = at(tree, *path)
    if isinstance(found, list | tuple):
        yield from (row for row in found if isinstance(row, Mapping))


def condition(tree: object, kind: str) -> Live:
    """The condition of this type in `status`; empty when there is none."""
    for row in rows(tree, "status", "conditions"):
        if row.get("type") == kind:
            return row
    return {}


def moment(value: object) -> datetime | None:
    """An RFC 3339 time."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def stamp(at_time: datetime) -> str:
    """A time as Kubernetes writes it: RFC 3339 in UTC, whole seconds."""
    return at_time.astimezone(UTC).replace(microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ")


def bounded(words: str, limit: int = 512) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(words.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
