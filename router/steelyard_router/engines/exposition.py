"""Reading a few metrics out of a Prometheus text page.

An engine's page has thousands of lines, of which a handful matter here, and it is read every other
second for every instance. So the wanted names are searched for, and nothing else is parsed; the
parser of prometheus-client takes a hundred times as long for one page.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')


class Sample(NamedTuple):
    """One line: its labels and a finite value. Escapes in label values are left as they are."""

    labels: Mapping[str, str]
    value: float


def samples(page: bytes, name: str) -> Iterator[Sample]:
    """The samples of exactly this name; lines that cannot be read and NaN are passed over."""
    key = name.encode()
    at = page.find(key)
    while at >= 0:
        end = page.find(b"\n", at)
        line = page[at : end if end >= 0 else len(page)]
        starts_line = at == 0 or page[at - 1 : at] == b"\n"
        if starts_line and line[len(key) : len(key) + 1] in {b"{", b" ", b"\t"}:
            sample = _sample(line[len(key) :].decode("utf-8", "replace"))
            if sample is not None:
                yield sample
        at = page.find(key, at + len(line))


def _sample(rest: str) -> Sample | None:
    labels, _, value = rest.rpartition("}")
    try:
        number = float(value.split()[0])
    except (ValueError, IndexError):
        return None
    return Sample(dict(LABEL.findall(labels)), number) if math.isfinite(number) else None
