"""What can keep a replay from starting.

    LoadError
    |- TraceError        the file cannot be read as a trace; names the path, the line and the reason
    |- UnreachableError  nobody answers at the URL
    `- WrongModelError   the server does not serve the model that was asked for

Failures of single requests are no exceptions: they are counted in the measurements.
"""

from pathlib import Path


class LoadError(Exception):
    """Base of all errors of the load generator; the message says what to do."""


class TraceError(LoadError):
    """A trace that cannot be used."""

    def __init__(self, path: Path, reason: str, *, line: int | None = None) -> None:
        where = f"{path}, line {line}" if line is not None else str(path)
        super().__init__(f"{where}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


class UnreachableError(LoadError):
    """No connection, or an answer that no OpenAI-compatible server gives."""


class WrongModelError(LoadError):
    """The message lists what is served."""
