"""Progress bars of the benches that say what they are at and how far it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn


@contextmanager
def bars() -> Iterator[Callable[[str, float], None]]:
    """A bar for each thing that is done, on stderr; told its name and the share that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def advance(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=1.0)
            progress.update(tasks[what], completed=share)

        yield advance
