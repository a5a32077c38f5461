"""Parameters that several commands have, and the types of their values.

It imports nothing but click: every command does, the smallest too.
"""

from pathlib import Path

import click

FilePath = click.Path(dir_okay=False, path_type=Path)
FolderPath = click.Path(file_okay=False, path_type=Path)
PositiveFloat = click.FloatRange(min=0, min_open=True)
PositiveInt = click.IntRange(min=1)
Port = click.IntRange(0, 65535)
"""0: any that is free."""

manifests_argument = click.argument(
    "manifests",
    nargs=-1,
    required=True,
    metavar="MANIFEST...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
