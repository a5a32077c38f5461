"""Whether an instance can take one more request at once, so that nothing waits inside it.

What waits inside an engine waits in order of arrival and cannot go elsewhere any more; what waits
in front can still be ordered, and goes where there is room first. An instance has room while it
runs fewer sequences than it can (learned: Member.width), while what is queued there to be computed
is short, and while its KV memory holds what it has and what comes. One that is idle always has.
"""

from dataclasses import dataclass
from math import inf
from typing import Final

from steelyard_router.scheduling.fleet import Member
from steelyard_router.scheduling.predictor import Coefficients
from steelyard_router.scheduling.request import RequestView


@dataclass(frozen=True, slots=True)
class Room:
    """The bounds."""

    queued_s: float = inf
    """Prompts there that are not computed yet, in predicted seconds."""
    kv_share: float = 0.8
    """Of its KV memory: the rest is for what replies grow by beyond what is expected."""

    def fits(self, request: RequestView, member: Member, costs: Coefficients) -> bool:
        account = member.account
        if not account.sequences and not account.others:
            return True
        if account.sequences + account.others + request.sequences > member.width:
            return False
        if costs.prefill(account.pending, account.pending_pairs) > self.queued_s:
            return False
        tokens = request.prompt_tokens + request.sequences * (request.expected_output_tokens or 0)
        held = account.context + account.pending + tokens
        return held <= self.kv_share * member.cache_tokens


ROOM: Final = Room()
