"""Figures and tables as Markdown has them."""

from collections.abc import Iterable, Sequence

from steelyard_bench.evaluation.result import Comparison, Figure


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """The first `left` columns are text, the others figures."""
    lines = [
        _row(head),
        _row(["---" if column < left else "---:" for column in range(len(head))]),
        *(_row(row) for row in rows),
    ]
    return "\n".join(lines)


def amount(value: float | None) -> str:
    """Three digits tell policies apart."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def figure(found: Figure | None) -> str:
    """The mean, with the seeds' standard deviation where there is one."""
    if found is None:
        return "-"
    if found.deviation is None:
        return amount(found.mean)
    return f"{amount(found.mean)} ± {amount(found.deviation)}"


def mean(found: Figure | None) -> str:
    return "-" if found is None else amount(found.mean)


def share(found: Figure | None) -> str:
    return "-" if found is None else f"{found.mean:.3f}"


def percent(found: Figure | None) -> str:
    return "-" if found is None else f"{100 * found.mean:.1f} %"


def change(found: Comparison | None) -> str:
    """-12 %: so much less."""
    return "-" if found is None else f"{100 * found.change:+.0f} %"


def exact_change(found: Comparison | None) -> str:
    """With one digit more, and how much of it is chance."""
    if found is None:
        return "-"
    told = f"{100 * found.change:+.1f} %"
    return told if found.deviation is None else f"{told} ± {100 * found.error:.1f}"


def yes_no(met: bool | None) -> str:  # noqa: FBT001
    """None: what it needs was not measured."""
    return "not measured" if met is None else "met" if met else "**not met**"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
