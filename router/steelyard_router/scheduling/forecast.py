"""How long a request will wait for its first token where it goes, and for each one after it.

An engine with continuous batching computes prompts in the step after they came, all that fit in one
step together; the first tokens come at its end. So who comes while a step runs waits for its end,
then for a step with its own prompt, with those that came meanwhile, and with a token for everybody
who decodes. How far the running step is shows in when the last first byte came (the end of the step
before), or, where prompts came to an engine that only decoded, in when the first of them came.

A token after the first takes a step with this request in it, and longer by the share of the time
that prompts took of late.
"""

from itertools import islice
from typing import Final, NamedTuple

from steelyard_router.scheduling.ledger import Account
from steelyard_router.scheduling.objective import output_tokens
from steelyard_router.scheduling.predictor import Coefficients
from steelyard_router.scheduling.predictor.window import CHUNK_TOKENS
from steelyard_router.scheduling.request import RequestView

LATEST: Final = 16
"""Of the prompts in line, so many are looked at for when they came."""


class Forecast(NamedTuple):
    """From the decision on, in seconds."""

    ttft_s: float
    tpot_s: float


def forecast(
    request: RequestView, account: Account, costs: Coefficients, uncached_tokens: float, now: float
) -> Forecast:
    """Of a request that is about to be placed there, before it is counted."""
    base, prefill, attention, sequence, context = costs
    prompt, sequences = max(1, request.prompt_tokens), request.sequences
    running = account.sequences + account.others
    decode = base + sequence * (account.decoding + account.others) + context * account.context
    wait, tokens, together = 0.0, uncached_tokens, 0.0
    if account.line:
        wait, beside, together = _behind(account, costs, decode, now)
        tokens += beside
    elif running:
        wait = 0.5 * decode
    own = uncached_tokens * (prefill + attention * (prompt - 0.5 * (uncached_tokens - 1.0)))
    steps = 1 + (tokens - 1) // CHUNK_TOKENS
    held = account.context + account.pending + sequences * (prompt + 0.5 * output_tokens(request))
    step = base + sequence * (running + sequences) + context * held
    share = account.prefill_share.priced(prefill, attention, now)
    return Forecast(wait + together + own + steps * decode, step / (1.0 - share))


def _behind(
    account: Account, costs: Coefficients, decode: float, now: float
) -> tuple[float, int, float]:
    """Seconds until the next step begins, and what of the line is computed in that one: tokens, and
    seconds that they take.
    """
    _, prefill, attention, _, _ = costs
    group = account.pending
    group_s = prefill * group + attention * account.pending_pairs
    begun = account.since
    if account.decoding and next(iter(account.line)).taken_s == begun:
        begun += 0.5 * decode
    if now < begun:  # none of them is being computed yet
        return begun - now, group, group_s
    late = 0
    late_s = 0.0
    for lease in islice(reversed(account.line), LATEST):
        if lease.taken_s <= begun:
            break
        late += lease.uncached_tokens
        late_s += prefill * lease.uncached_tokens + attention * lease.pairs
    steps = 1 + (group - late - 1) // CHUNK_TOKENS
    return max(0.0, begun + group_s - late_s + steps * decode - now), late, late_s
