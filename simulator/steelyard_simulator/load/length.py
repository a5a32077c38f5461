"""Lengths of recorded requests, packaged, to draw from; `data/README.md` has their sources."""

import csv
import gzip
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

TABLES: Final = ("azure_conversation", "azure_code", "servegen")


class Length(NamedTuple):
    """Of one request, in tokens."""

    input_tokens: int
    output_tokens: int


@cache
def lengths(table: str) -> tuple[Length, ...]:
    """By a name in TABLES, shortest prompt first."""
    packed = files("steelyard_simulator.load") / "data" / f"{table}.csv.gz"
    rows = csv.reader(gzip.decompress(packed.read_bytes()).decode().splitlines()[1:])
    return tuple(Length(int(prompt), int(reply)) for prompt, reply in rows)
