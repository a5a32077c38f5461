"""From an object of the API server to a model, or one sentence on why it is none.

The CRD's schema refuses nearly all of that beforehand; what is left is an object that was stored
under another version of the schema.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from pydantic import ValidationError

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.reason import dotted, is_consequence, reason
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.errors import InvalidObjectError
from steelyard_operator.plan.claim import Claim, unreadable_claim
from steelyard_router.kube.resource import Object

from .heard import targets

TOLD = 3

T = TypeVar("T", LLMService, SLOPolicy)


def parse(body: Object, model: type[T]) -> T:
    """Raises InvalidObjectError."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        details = [item for item in error.errors(include_url=False) if not is_consequence(item)]
        told = [f"{dotted(item['loc'])}: {reason(item, model)}" for item in details[:TOLD]]
        if len(details) > TOLD:
            told.append(f"and {len(details) - TOLD} more")
        raise InvalidObjectError("; ".join(told)) from error


def services(bodies: Iterable[Object]) -> list[LLMService]:
    """Those that can be read and are not on their way out."""
    found = []
    for body in bodies:
        with suppress(InvalidObjectError):
            if not _ends(body):
                found.append(parse(body, LLMService))
    return found


def policies(bodies: Iterable[Object]) -> tuple[list[SLOPolicy], list[Claim]]:
    """Those that can be read, and the claims of the others; without those on their way out."""
    found, unreadable = [], []
    for body in bodies:
        if _ends(body):
            continue
        try:
            found.append(parse(body, SLOPolicy))
        except InvalidObjectError as error:
            unreadable.append(unreadable_claim(body, str(error)))
    return found, unreadable


def concerning(bodies: Iterable[Object], services: Collection[str]) -> Iterator[Object]:
    """Of policies, those that name any of the services: no other can matter to these. Reading one
    costs a thousand times as much as this, and a namespace may hold hundreds.
    """
    return (body for body in bodies if not set(targets(body)).isdisjoint(services))


def _ends(body: Object) -> bool:
    return "deletionTimestamp" in body["metadata"]
