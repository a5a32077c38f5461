"""Names as people write them: one that is known, and constants behind it.

`linear:kv=0.7`, `multiplicative:p=1:b=0.5`.
"""

from collections.abc import Iterable, Sequence


def parse_name(
    name: str, kind: str, known: Sequence[str], error: type[ValueError]
) -> tuple[str, dict[str, float]]:
    """A known name without its constants, and those. Raises `error`, which says what to write."""
    bare, *given = name.split(":")
    if bare not in known:
        raise error(f"unknown {kind} {bare!r}; known are {', '.join(known)}")
    try:
        return bare, _constants(given)
    except ValueError as exc:
        raise error(f"{kind} {name!r}: {exc}") from None


def _constants(texts: Iterable[str]) -> dict[str, float]:
    return dict(_constant(text) for text in texts)


def _constant(text: str) -> tuple[str, float]:
    key, _, value = text.partition("=")
    try:
        return key, float(value)
    except ValueError:
        raise ValueError(f"{text!r} is not NAME=NUMBER, as in linear:kv=0.7") from None
