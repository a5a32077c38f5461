"""The one file of a study, build/fidelity.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from steelyard_bench.document import read_document
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.study import FORMAT


def save(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def load(path: Path) -> dict[str, Any]:
    """Raises FidelityError."""
    return read_document(path, "study", FORMAT, remedy="run the study again", error=FidelityError)
