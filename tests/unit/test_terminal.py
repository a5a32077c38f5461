"""What the commands print: how wide, and where figures stand."""

import io

import pytest
from rich.console import Console

from steelyard.terminal import PLAIN_WIDTH, figure_table, make_console


def test_names_stand_left_and_figures_right() -> None:
    table = figure_table("cell", "target", "req/s", names=2)
    table.add_row("a", "b", "7")
    table.add_row("longer", "longest", "12,345")
    out = io.StringIO()

    Console(file=out, width=PLAIN_WIDTH).print(table)

    assert "│ a      │ b       │      7 │" in out.getvalue()


@pytest.mark.parametrize("columns", ["40", "400"])
def test_without_a_terminal_the_width_is_the_same_everywhere(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", io.StringIO())

    assert make_console().width == PLAIN_WIDTH
