"""What the measurement has to show, read from its document. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from steelyard_bench.bar import Bar
from steelyard_bench.live_order.cell import CELLS
from steelyard_bench.live_order.load import STRICT

TIMES: Final = 2.0
"""As many of the strict class in time as in order of arrival."""


def attainment(cells: Sequence[Mapping[str, Any]], name: str, kind: str) -> float:
    """Of one class in all repeats of a cell."""
    own = [one["classes"][kind] for one in cells if one["cell"] == name]
    requests = sum(one["requests"] for one in own)
    return sum(one["met"] for one in own) / requests if requests else 0.0


def bars(document: Mapping[str, Any]) -> Iterator[Bar]:
    """One for each cell that orders, beside the better of those with the same engines that do
    not."""
    for phase in document["phases"]:
        cells = phase["cells"]
        names = list(dict.fromkeys(one["cell"] for one in cells))
        reached = {name: attainment(cells, name, STRICT.name) for name in names}
        plain = [name for name in names if CELLS[name].by_arrival]
        if plain:
            best = max(plain, key=lambda name: reached[name])
            where = "on" if phase["scheduling"] == "priority" else "off"
            for name in names:
                if name not in plain:
                    yield _bar(f"engine priority {where}, {name}", reached, name, best)


def _bar(where: str, reached: Mapping[str, float], name: str, best: str) -> Bar:
    ours, theirs = reached[name], reached[best]
    times = f" ({ours / theirs:.1f}x)" if theirs else ""
    return Bar(
        f"{where}: {STRICT.name} in time at least {TIMES:g}x as often as by arrival",
        f"{ours:.1%} beside {theirs:.1%} of {best}{times}",
        ours > 0 and ours >= TIMES * theirs,
    )
