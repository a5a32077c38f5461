"""Which models there are, and which instances may serve each.

A member whose models are not known yet may serve any, so while there is one, no model is refused:
the engine itself answers 404 where it has to. Members that are down count as well, so a model whose
only instance is down is answered with 503 (try again) and not with 404 (give up).

The scheduler keeps a mask per frozenset object, so `among` returns one and the same object for as
long as its members stay the same, however often the roster changes elsewhere.
"""

import difflib

import orjson

from steelyard_router.errors import ModelNotFound
from steelyard_router.proxy.roster import Member, ModelCard, Roster

LISTED_MODELS = 10
"""Known models that an error message names."""


class Catalog:
    """A view of the roster by model, worked out again when the roster's version has moved."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._version = -1
        self._among: dict[str, frozenset[str]] = {}
        self._unknown: frozenset[str] = frozenset()
        """Members that may serve any model."""
        self._total = 0
        self._body: bytes | None = None

    def among(self, model: str | None) -> frozenset[str] | None:
        """The instances that may serve the model; None is all of them.

        ModelNotFound when every member's models are known and it is not one of them.
        """
        self._follow()
        if model is None or not self._total:
            return None
        candidates = self._among.get(model, self._unknown)
        if not candidates:
            raise self._not_found(model)
        return None if len(candidates) == self._total else candidates

    def models(self) -> list[str]:
        """Every known model, sorted."""
        self._follow()
        return sorted(self._among)

    def body(self) -> bytes:
        """The answer to GET /v1/models: each model of the members that are not down, once, by name.

        An entry is as the first member that lists the model tells it, so max_model_len and whatever
        else an engine adds is kept.
        """
        self._follow()
        if self._body is None:
            cards: dict[str, ModelCard] = {}
            for member in sorted(self._roster, key=lambda member: member.id):
                if member.healthy is not False:
                    for card in _cards(member):
                        cards.setdefault(str(card["id"]), card)
            data = [cards[model] for model in sorted(cards)]
            self._body = orjson.dumps({"object": "list", "data": data})
        return self._body

    def _follow(self) -> None:
        if self._version == self._roster.version:
            return
        self._version = self._roster.version
        self._body = None
        members = tuple(self._roster)
        self._total = len(members)
        served: dict[str, set[str]] = {}
        for member in members:
            for model in member.models or ():
                served.setdefault(model, set()).add(member.id)
        unknown = {member.id for member in members if member.models is None}
        kept = {members: members for members in (*self._among.values(), self._unknown)}
        self._unknown = _interned(unknown, kept)
        self._among = {model: _interned(ids | unknown, kept) for model, ids in served.items()}

    def _not_found(self, model: str) -> ModelNotFound:
        known = sorted(self._among)
        names = ", ".join(known[:LISTED_MODELS])
        if len(known) > LISTED_MODELS:
            names += f" and {len(known) - LISTED_MODELS} more (GET /v1/models lists all)"
        near = difflib.get_close_matches(model[:256], known[:256], n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        return ModelNotFound(
            f"The model `{model[:256]}` does not exist here.{hint} Known: {names or 'none'}.",
            param="model",
        )


def _interned(members: set[str], kept: dict[frozenset[str], frozenset[str]]) -> frozenset[str]:
    wanted = frozenset(members)
    return kept.setdefault(wanted, wanted)


def _cards(member: Member) -> list[ModelCard]:
    told = {str(card["id"]): card for card in member.cards}
    plain = {"object": "model", "owned_by": "steelyard"}
    return [told.get(model, {"id": model, **plain}) for model in sorted(member.models or ())]
