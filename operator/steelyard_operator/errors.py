"""Every error a user of the operator or of `steelyard up` can meet.

    OperatorError
    |- ManifestError         objects that cannot be used; carries every problem with its place
    |- InvalidPolicyError    a policy that the router's configuration refuses (plan/policy)
    |- InvalidObjectError    a stored object that the models refuse (cluster/parse)
    |- LocalError            a plan that this machine cannot run: a missing program, a taken port
    `- ClusterError          a cluster that the operator cannot work in: no CRDs, a right missing

Messages say what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass


class OperatorError(Exception):
    """Base of all errors of the operator."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a manifest. `line` counts from 1; `subject` is kind/name if known."""

    path: str
    line: int
    subject: str
    field: str
    reason: str

    def __str__(self) -> str:
        parts = (f"{self.path}:{self.line}", self.subject, self.field, self.reason)
        return ": ".join(part for part in parts if part)


class ManifestError(OperatorError):
    """Manifests with problems: all of them, in the order of the files."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class InvalidPolicyError(OperatorError):
    """The router's configuration refuses a policy; the message names the field and the reason."""


class LocalError(OperatorError):
    """This machine cannot run the plan as it is."""


class InvalidObjectError(OperatorError):
    """An object of the API server cannot be read; the message names the fields and the reasons."""


class ClusterError(OperatorError):
    """The operator cannot work in this cluster as it is."""
