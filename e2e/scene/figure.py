"""The figures of a test: printed, and kept in its JUnit record."""

from collections.abc import Callable


class Figures:
    """`record` puts one property into the test's record."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record

    def note(self, **figures: object) -> None:
        for name, value in figures.items():
            shown = f"{value:.3f}" if isinstance(value, float) else value
            self._record(name, shown)
            print(f"{name} = {shown}")  # noqa: T201 -- what a person who runs the tests wants to see
