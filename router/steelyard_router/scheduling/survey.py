"""What a decision looks at: all instances that may take a request, then those that are left.

Two things leave an instance out: it has no room (room.py), or the prompt tokens queued there and
this request's are above a cap. Where on all of the rest others would miss targets that are worth
more (price.py), the request goes nowhere; else the strategy has the choice of all of them, for what
others lose is in its cost too, beside what the request finds cached.
"""

from collections.abc import Sequence

from steelyard_router.scheduling.candidate import Terms
from steelyard_router.scheduling.fleet import Member
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.price import too_dear
from steelyard_router.scheduling.refusal import AbovePTokenCap, NoRoom, TooDear
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.room import Room


def look(request: RequestView, hits: list[int], members: list[Member], now: float) -> Terms:
    """A row for each of them. One comprehension a column: a few hundred instances must not cost a
    call each.
    """
    slots = [member.slot for member in members]
    loads = [member.account for member in members]
    done = [load.rate * (now - load.since) for load in loads]
    most = max(1, request.prompt_tokens) - 1  # a hit leaves at least one token to compute
    cached = [hits[slot] * request.block_tokens for slot in slots]
    return Terms(
        slots=slots,
        q=[
            load.pending - (part if part < load.head_tokens else load.head_tokens)
            for load, part in zip(loads, done, strict=True)
        ],
        p=[1.0 + most - (hit if hit < most else most) for hit in cached],
        b=[load.sequences + load.others for load in loads],
        c=[load.context for load in loads],
        request=request,
        now=now,
    )


def open_to(
    request: RequestView,
    members: Sequence[Member],
    hits: list[int],
    predictor: Predictor,
    room: Room | None,
) -> Sequence[Member]:
    """Those with room for it. Raises NoRoom where none has."""
    open_ = members if room is None else room.among(members, request, hits, predictor)
    if not open_:
        raise NoRoom
    return open_


def choosable(
    terms: Terms,
    members: Sequence[Member],
    open_: Sequence[Member],
    *,
    room: Room | None,
    max_p_tokens: int | None,
) -> Terms:
    """The rows of `terms`, which are of those members, that a strategy may choose among: of those
    that are open. Raises AbovePTokenCap or TooDear where it may choose none.
    """
    if len(open_) < len(members):
        names = {member.name for member in open_}
        terms = terms.rows([row for row, one in enumerate(members) if one.name in names])
    if max_p_tokens is not None:
        terms = _below_cap(terms, max_p_tokens)
    if room is not None and too_dear(terms, room.dear):
        raise TooDear
    return terms


def _below_cap(terms: Terms, cap: int) -> Terms:
    tokens = [q + p for q, p in zip(terms.q, terms.p, strict=True)]
    keep = [row for row, each in enumerate(tokens) if each <= cap]
    if not keep:
        raise AbovePTokenCap(cap, min(tokens))
    return terms.rows(keep)
