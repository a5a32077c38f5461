"""What happens to the instances of a fleet while it serves."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class ChangeKind(StrEnum):
    """From an orderly goodbye to what no router is told."""

    JOIN = "join"
    """It is ready (again). After LEAVE it still has its cache, though routers have forgotten it."""
    LEAVE = "leave"
    """It is not ready: what runs there ends, nothing new comes."""
    FAIL = "fail"
    """The process is gone, with its cache and with all that ran there."""
    RESTART = "restart"
    """FAIL, and JOIN at once."""
    FLUSH = "flush"
    """Its cache is emptied and no router is told."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change to the instance of that number, counted from 0; a JOIN may name a new one."""

    at_s: float
    kind: ChangeKind
    instance: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """From KIND@SECONDS:INSTANCE, as in `fail@120:3`. Raises ValueError."""
        try:
            kind, _, rest = text.partition("@")
            at_s, _, instance = rest.partition(":")
            change = cls(float(at_s), ChangeKind(kind), int(instance))
        except ValueError:
            change = None
        if change is None or change.at_s < 0 or change.instance < 0:
            kinds = ", ".join(ChangeKind)
            raise ValueError(
                f"{text!r} is not KIND@SECONDS:INSTANCE, as in fail@120:3; kinds are {kinds}"
            )
        return change
