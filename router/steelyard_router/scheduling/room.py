"""Whether an instance can take one more request at once, so that nothing waits inside it.

What waits inside an engine waits in order of arrival and cannot go elsewhere any more; what waits
in front can still be ordered, and goes where there is room first. An instance has room while it
runs fewer sequences than it can (learned: Member.width), while what is queued there to be computed
is short, and while its KV memory, where its size is known, holds what it has, what that will grow
by, and what comes. One that is idle always has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from steelyard_router.scheduling.fleet import Member
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.price import DEAR
from steelyard_router.scheduling.request import RequestView


@dataclass(frozen=True, slots=True)
class Room:
    """The bounds."""

    sequences: float = inf
    """On one instance, beside what is known of its engine;"""
    of_workload: Mapping[str, int] = field(default_factory=dict)
    """and of single workloads."""
    queued_s: float = inf
    """Prompts there that are not computed yet, in predicted seconds."""
    kv_share: float = 0.8
    """Of its KV memory: the rest is for what replies grow by beyond what is expected."""
    dear: float = DEAR
    """What others may lose by one more, as a share of what it has to gain (price.py)."""
    learned: bool = True
    """Whether what is known of an engine bounds it; else all are endless, but for the bounds given
    here."""

    def among(
        self,
        members: Sequence[Member],
        request: RequestView,
        hits: list[int],
        predictor: Predictor,
    ) -> list[Member]:
        """Those with room. `hits` are blocks of its prompt by slot."""
        many = request.sequences
        most = self.sequences
        open_ = [
            member
            for member in members
            if not (held := member.account.sequences + member.account.others)
            or held + many <= (member.width if self.learned and member.width < most else most)
        ]
        if self.learned and self.kv_share < inf:
            most = request.prompt_tokens + _reply(request)
            share = self.kv_share
            open_ = [
                one
                for one in open_
                # where there is plenty, what exactly it will come to hold makes no difference
                if one.account.memory.ceiling + most <= share * one.cache_tokens
                or self._holds(one, request, hits)
            ]
        open_ = self.below_own(open_, request)
        if self.queued_s < inf:
            open_ = [one for one in open_ if self._begins(one, predictor)]
        return open_

    def below_own(self, members: list[Member], request: RequestView) -> list[Member]:
        """Those that may be given one more of its workload: where the others are makes no
        difference to that."""
        name = request.workload
        if (bound := self.of_workload.get(name)) is None:
            return members
        left = max(0, bound - request.sequences)
        return [one for one in members if one.account.workloads.get(name, 0) <= left]

    def _holds(self, member: Member, request: RequestView, hits: list[int]) -> bool:
        memory, account = member.account.memory, member.account
        if not member.cache_known or not (account.sequences or account.others):
            return True
        cached = hits[member.slot] * request.block_tokens if member.slot < len(hits) else 0.0
        new = memory.needed(request.prompt_tokens, min(cached, request.prompt_tokens))
        return memory.tokens + new + _reply(request) <= self.kv_share * member.cache_tokens

    def _begins(self, member: Member, predictor: Predictor) -> bool:
        account = member.account
        if not account.pending:
            return True
        costs = predictor.coefficients(member.name)
        return costs.prefill(account.pending, account.pending_pairs) <= self.queued_s


def _reply(request: RequestView) -> int:
    """Tokens that are expected of all its sequences."""
    return int(request.sequences * (request.expected_output_tokens or 0))


ROOM: Final = Room()
ENDLESS: Final = Room(dear=inf, learned=False)
"""No bound at all."""
