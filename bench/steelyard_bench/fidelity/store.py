"""The one file of a study, build/fidelity.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.study import FORMAT


def save(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def load(path: Path) -> dict[str, Any]:
    """Raises FidelityError."""
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as exc:
        raise FidelityError(f"{path} cannot be read ({exc.strerror or exc})") from exc
    except orjson.JSONDecodeError as exc:
        raise FidelityError(f"{path} is not JSON ({exc}); run the study again") from exc
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FidelityError(f"{path} is no study of this version; run it again")
    return document
