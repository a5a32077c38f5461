"""From the lines of a telling router (teller.py) to rows, with a constant put beside. Pure."""

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from steelyard_bench.predictor.play import Mean
from steelyard_bench.predictor.row import Row, Times
from steelyard_bench.predictor.teller import TOLD

END: Final = "steelyard_end"
"""The key of a recording's last line."""


class _Told(NamedTuple):
    """One answered request."""

    workload: str
    placed_at_s: float
    ended_at_s: float
    predicted: Times
    measured: Times


def rows(lines: Iterable[str]) -> list[Row]:
    """Of all that were answered, in the order of their placement. The constant of each is the mean
    of those of its workload that had ended when it was placed.
    """
    told = [one for line in lines if (one := _told(json.loads(line))) is not None]
    made = [
        Row(number, one.workload, one.placed_at_s, {"router": one.predicted}, one.measured)
        for number, one in enumerate(sorted(told, key=lambda one: one.placed_at_s))
    ]
    means: dict[str, Mean] = {}
    ended = iter(sorted(told, key=lambda one: one.ended_at_s))
    last = next(ended, None)
    for row in made:
        while last is not None and last.ended_at_s < row.at_s:
            means.setdefault(last.workload, Mean()).add(last.measured)
            last = next(ended, None)
        row.told["constant"] = means.setdefault(row.workload, Mean()).times
    return made


def _told(line: dict[str, Any]) -> _Told | None:
    """None: it is about no request, or about one that failed."""
    told = line.get(TOLD)
    if told is None or told["ended_at_s"] is None:
        return None
    return _Told(
        line["workload"],
        told["placed_at_s"],
        told["ended_at_s"],
        Times(*told["predicted"]),
        Times(*told["measured"]),
    )
