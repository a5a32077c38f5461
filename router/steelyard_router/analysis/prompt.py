"""The prompt of a request, as the bytes that are hashed: one reader per shape of API.

Chain order: model (or adapter) and cache_salt seed the chain (analyzer.py), then tools, then system
text, then messages, as chat templates place them. The pieces of a conversation are joined by a byte
that no text holds: the role and the text of a plain message, anything richer as compact JSON. How a
message goes in depends on nothing but itself, so a conversation's next turn starts with exactly the
bytes of this one. The body itself is never rewritten.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard_router.analysis.field import Body, canonical, items, missing, refuse
from steelyard_router.analysis.media import Media, condense, counted
from steelyard_router.errors import BadRequest

TOKEN_ID_BYTES = array("I").itemsize
SEPARATOR = b"\xff"
"""Never part of UTF-8."""


@dataclass(slots=True)
class Prompt:
    """What a request asks to have prefilled; never changed.

    `head` is the first sequence's text, or its token ids as an array of unsigned ints. `text_bytes`
    and `token_ids` sum over all `count` prompts; one of the two is 0. Media parts are in neither.
    """

    head: bytes
    text_bytes: int = 0
    token_ids: int = 0
    count: int = 1
    media: Media = ()


Reader = Callable[[Body], Prompt]


def chat(body: Body, *, turns: str = "messages", before: tuple[str, ...] = ("tools",)) -> Prompt:
    """A conversation: the list `turns`, after the fields `before` in the order of the chain."""
    listed = items(body, turns)
    pieces = [canonical(body[name], name) for name in before if body.get(name)]
    media: Media = ()
    for position, turn in enumerate(listed):
        if type(turn) is not dict:
            raise refuse(f"{turns}[{position}]", "an object", turn)
        role, content = turn.get("role"), turn.get("content")
        if type(content) is str and type(role) is str and len(turn) == 2:
            pieces += role.encode(), content.encode()
        else:
            [condensed], found = condense([turn], turns)
            pieces.append(canonical(condensed, turns))
            media = counted(media, found) if found else media
    head = SEPARATOR.join(pieces)
    return Prompt(head, len(head), media=media)


def anthropic(body: Body) -> Prompt:
    return chat(body, before=("tools", "system"))


def responses(body: Body) -> Prompt:
    """`input` is a list of items, or one text, which means the same as one user message."""
    given = body.get("input")
    if isinstance(given, str):
        body = {**body, "input": [{"role": "user", "content": given}]}
    return chat(body, turns="input", before=("tools", "instructions"))


def completion(body: Body) -> Prompt:
    return _plain(body, "prompt")


def embedding(body: Body) -> Prompt:
    return _plain(body, "input")


def rerank(body: Body) -> Prompt:
    return _pairs(body, left=("query",), right=("documents",))


def score(body: Body) -> Prompt:
    left = ("text_1", "queries", "data_1", "query")
    return _pairs(body, left=left, right=("text_2", "documents", "data_2", "items"))


def _plain(body: Body, name: str) -> Prompt:
    """Text, token ids, or a list of either; engines also take messages or embeddings instead."""
    given = body.get(name)
    if isinstance(given, str):
        head = given.encode()
        return Prompt(head, text_bytes=len(head))
    if isinstance(given, list) and given:
        return _listed(given, name)
    if given is not None:
        raise refuse(name, "a string, token ids, or a list of either (not empty)", given)
    if body.get("messages") is not None:
        return chat(body)
    if body.get("prompt_embeds") is not None:
        return Prompt(b"")
    raise missing(name)


def _listed(entries: list[Any], name: str) -> Prompt:
    """What the first entry is decides what the list is."""
    match entries[0]:
        case int():
            return Prompt(_token_ids(entries, name), token_ids=len(entries))
        case str():
            return _texts(entries, name)
        case list():
            return _token_lists(entries, name)
        case dict():
            parts, media = condense(entries, name)
            size = len(canonical(parts, name))
            return Prompt(canonical(parts[0], name), size, count=len(entries), media=media)
        case other:
            raise refuse(
                f"{name}[0]", "a string, a token id, a list of token ids or an object", other
            )


def _texts(entries: list[Any], name: str) -> Prompt:
    _all_like_the_first(entries, str, name, "a string")
    encoded = [entry.encode() for entry in entries]
    return Prompt(encoded[0], text_bytes=sum(map(len, encoded)), count=len(encoded))


def _token_lists(entries: list[Any], name: str) -> Prompt:
    _all_like_the_first(entries, list, name, "a list of token ids")
    head = _token_ids(entries[0], f"{name}[0]")
    return Prompt(head, token_ids=sum(map(len, entries)), count=len(entries))


def _all_like_the_first(entries: list[Any], kind: type, name: str, expected: str) -> None:
    for position, entry in enumerate(entries):
        if not isinstance(entry, kind):
            raise refuse(f"{name}[{position}]", f"{expected}, like the first entry", entry)


def _token_ids(ids: list[Any], name: str) -> bytes:
    try:
        return array("I", ids).tobytes()
    except (TypeError, OverflowError) as error:
        raise BadRequest(
            f"{name} starts with a token id, so all of it must be integers from 0 to 2^32 - 1.",
            param=name,
        ) from error


def _pairs(body: Body, *, left: tuple[str, ...], right: tuple[str, ...]) -> Prompt:
    """One sequence per pair of left and right; a lone entry of one side is repeated in each."""
    lefts, rights = _side(body, left), _side(body, right)
    both, media = condense([*lefts, *rights], right[0])
    sizes = [len(canonical(entry, right[0])) for entry in both]
    count = max(len(lefts), len(rights))
    text_bytes = sum(sizes[: len(lefts)]) * (count // len(lefts))
    text_bytes += sum(sizes[len(lefts) :]) * (count // len(rights))
    head = canonical(both[0], left[0]) + canonical(both[len(lefts)], right[0])
    return Prompt(head, text_bytes=text_bytes, count=count, media=media)


def _side(body: Body, names: tuple[str, ...]) -> list[Any]:
    """One side's entries under whichever of its names is given."""
    name = next((name for name in names if body.get(name) is not None), None)
    if name is None:
        raise missing(names[0])
    match body[name]:
        case str() | dict() as entry:
            return [entry]
        case [_, *_] as entries:
            return list(entries)
        case other:
            raise refuse(name, "a string, an object or a list of these (not empty)", other)
