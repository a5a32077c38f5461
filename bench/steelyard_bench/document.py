"""The JSON file in which a measurement is kept from one call to the next."""

from pathlib import Path
from typing import Any

import orjson


def read_document(
    path: Path, kind: str, version: int, *, remedy: str, error: type[Exception]
) -> dict[str, Any]:
    """One that this version wrote: its `format` is `version`. Raises `error`, with the remedy."""
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as exc:
        raise error(f"{path} cannot be read ({exc.strerror or exc})") from exc
    except orjson.JSONDecodeError as exc:
        raise error(f"{path} is not JSON ({exc}); {remedy}") from exc
    if not isinstance(document, dict) or document.get("format") != version:
        raise error(f"{path} is no {kind} of this version; {remedy}")
    return document
