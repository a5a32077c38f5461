"""A group whose commands are files of their own, each imported only when it is called.

So `steelyard router` does not pay memory and start-up time for plots and progress bars.
"""

import importlib
from collections.abc import Mapping
from typing import ClassVar

import click


class LazyGroup(click.Group):
    """What a group says of itself; the commands are listed as they stand there."""

    modules: ClassVar[Mapping[str, tuple[str, str]]]
    """By a command's name: where it is, and its line of help."""
    heading: ClassVar[str]

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self.modules:
            return None
        found: object = importlib.import_module(self.modules[cmd_name][0]).command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section(self.heading):
            formatter.write_dl([(name, text) for name, (_, text) in self.modules.items()])
