"""What a measurement on real engines has to reach, and what it has."""

from typing import NamedTuple


class Bar(NamedTuple):
    """`met` by what was measured."""

    about: str
    measured: str
    met: bool

    def __str__(self) -> str:
        return f"{'met    ' if self.met else 'NOT MET'}  {self.about}: {self.measured}"
