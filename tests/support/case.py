"""Objects that a kind's schema takes, beside those that it refuses and the words of the refusal.

One table for the API server and for `steelyard up`, so that both give the same answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .crd import Tree


@dataclass(frozen=True, slots=True)
class RuleCase:
    """One CEL rule: `message` is its own, word for word. `told` is the part of it that the models
    say as well, where they say more than a rule can.
    """

    kind: str
    path: str
    message: str
    accept: tuple[Tree, ...]
    reject: tuple[Tree, ...]
    told: str = ""

    @property
    def said_by_models(self) -> str:
        return self.told or self.message

    def __str__(self) -> str:
        return f"{self.path or self.kind}: {self.message[:40]}"


@dataclass(frozen=True, slots=True)
class EnumCase:
    """One enum: an object with any of its values."""

    kind: str
    path: str
    holding: Callable[[str], Tree]


Duplicates = Mapping[tuple[str, str], Tree]
"""By kind and path of a list with keys, an object that has a key twice."""


def body(kind: str, spec: Tree, name: str = "chat") -> Tree:
    return {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
