"""What the commands share when they speak to a person: the console, and tables of figures.

Where the output is no terminal it is always as wide, so that a log or a file reads the same on
every machine.
"""

import sys
from typing import Final

from rich.console import Console
from rich.table import Table

PLAIN_WIDTH: Final = 110
"""Columns where the output is no terminal."""
INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells have it."""


def make_console() -> Console:
    """For stdout. Only what a command marks has colour: numbers in a sentence do not."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)


def figure_table(*columns: str, names: int = 1, title: str | None = None) -> Table:
    """The first columns are names; the figures in the others stand right."""
    table = Table(*columns, title=title, title_justify="left")
    for column in table.columns[names:]:
        column.justify = "right"
    return table
