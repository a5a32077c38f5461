"""Makes the columns in seconds that some strategies ask for (candidate.Outlook)."""

from steelyard_router.scheduling.candidate import Outlook, Terms
from steelyard_router.scheduling.fleet import Member
from steelyard_router.scheduling.ledger import HARM_UNIT
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.usual import Latency


def outlook(terms: Terms, members: list[Member], predictor: Predictor, usual: Latency) -> Outlook:
    """For all rows of `terms`, which are of those members."""
    prompt, sequences = max(1, terms.request.prompt_tokens), terms.request.sequences
    now = terms.now
    q_s, own_s, token_s, added_s = [], [], [], []
    for member, q, p, b, c in zip(members, terms.q, terms.p, terms.b, terms.c, strict=True):
        name, account = member.name, member.account
        base, prefill, attention, sequence, context = predictor.coefficients(name)
        queued = prefill * account.pending + attention * account.pending_pairs
        if queued:
            head = prefill * account.head_tokens + attention * account.head_pairs
            done = now - account.since
            queued -= done if done < head else head
            queued = max(queued, q / account.rate)  # a full engine computes none of them
        added = sequences * (sequence + context * prompt)
        step = base + sequence * b + context * c + added
        q_s.append(queued)
        own_s.append(p * (prefill + attention * (prompt - 0.5 * (p - 1.0))))
        token_s.append(step / (1.0 - account.prefill_share.at(now)))
        added_s.append(added)
    harm = [
        member.account.harm * HARM_UNIT + member.account.stakes.harm(token)
        if member.account.stakes
        else member.account.harm * HARM_UNIT
        for member, token in zip(members, token_s, strict=True)
    ]
    return Outlook(q_s, own_s, token_s, added_s, harm, usual)
