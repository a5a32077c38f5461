"""The tables of `steelyard bench wire`: every figure, and ours over the best peer's."""

from collections.abc import Sequence

from rich.table import Table

from steelyard.terminal import figure_table
from steelyard_bench.wire.figure import Figure, Ratio, Value

MEASURES = {
    "requests_per_s": "req/s",
    "cpu_us_per_request": "CPU per request",
    "cpu_us_per_chunk": "CPU per chunk",
    "rss_bytes": "memory",
}
NOTES = """\
CPU in us: all threads of the router's processes over requests, or over output chunks (16 a request
in stream cells). Memory: the peak of all runs. paced-100: 100 streams of a chunk every 20 ms, where
p50 and p99 are how much later than its schedule a chunk comes. steelyard-bare: our byte path on a
path whose requests are not read, with round robin; what steelyard costs over it is the policy."""


def figures_table(found: Sequence[Figure]) -> Table:
    columns = ("req/s", "p50 ms", "p99 ms", "CPU/request", "CPU/chunk", "MB", "errors")
    table = figure_table("cell", "target", *columns, names=2)
    for place, figure in enumerate(found):
        last = place + 1 == len(found) or found[place + 1].cell != figure.cell
        values = figure.medians
        table.add_row(
            figure.cell,
            figure.target,
            _number(values["requests_per_s"], 0),
            _number(values["p50_ms"], 2),
            _number(values["p99_ms"], 2),
            _number(values["cpu_us_per_request"], 1),
            _number(values["cpu_us_per_chunk"], 1),
            _megabytes(values["rss_bytes"]),
            _number(values["errors"], 0),
            end_section=last,
        )
    return table


def verdict_table(ratios: Sequence[Ratio]) -> Table:
    """Ours over the best peer's, in each measure; whose that is stands in parentheses."""
    table = Table("ours / best peer", *MEASURES.values())
    by_cell: dict[str, dict[str, Ratio]] = {}
    for ratio in ratios:
        by_cell.setdefault(ratio.cell, {})[ratio.measure] = ratio
    for cell, row in by_cell.items():
        table.add_row(cell, *(_ratio(row.get(measure)) for measure in MEASURES))
    return table


def _ratio(ratio: Ratio | None) -> str:
    return "-" if ratio is None else f"{ratio.ratio:.2f} ({ratio.peer})"


def _megabytes(value: Value) -> str:
    return "-" if value is None else f"{value / 1e6:,.1f}"


def _number(value: Value, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
