"""Makes the columns in seconds that some strategies ask for (candidate.Outlook)."""

from steelyard_router.scheduling.candidate import Outlook, Terms
from steelyard_router.scheduling.fleet import Member
from steelyard_router.scheduling.ledger import HARM_UNIT
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.usual import Latency


def outlook(
    terms: Terms, members: list[Member], predictor: Predictor, usual: Latency, *, known: bool
) -> Outlook:
    """For all rows of `terms`, which are of those members."""
    prompt, sequences = max(1, terms.request.prompt_tokens), terms.request.sequences
    now, coefficients, priority = terms.now, predictor.coefficients, terms.request.priority
    q_s, own_s, token_s, added_s, harms, risks = [], [], [], [], [], []
    for member, q, p, b, c in zip(members, terms.q, terms.p, terms.b, terms.c, strict=True):
        account = member.account
        base, prefill, attention, sequence, context = coefficients(member.name)
        queued = prefill * account.pending + attention * account.pending_pairs
        if queued:
            head = prefill * account.head_tokens + attention * account.head_pairs
            done = now - account.since
            queued -= done if done < head else head
            queued = max(queued, q / account.rate)  # a full engine computes none of them
        added = sequences * (sequence + context * prompt)
        step = base + sequence * b + context * c + added
        pace = 1.0 / (1.0 - account.prefill_share.at(now))
        token = step * pace
        harm, risk = account.harm * HARM_UNIT, 0.0
        if account.stakes:
            theirs, risk = account.stakes.cost(token, token - added * pace, priority)
            harm += theirs
        q_s.append(queued)
        own_s.append(p * (prefill + attention * (prompt - 0.5 * (p - 1.0))))
        token_s.append(token)
        added_s.append(added)
        harms.append(harm)
        risks.append(risk)
    return Outlook(q_s, own_s, token_s, added_s, harms, risks, usual, known)
