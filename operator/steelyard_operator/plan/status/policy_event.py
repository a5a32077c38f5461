"""Events of a policy: what changed, target by target, since the stored status, each change once."""

from collections.abc import Iterator, Mapping, Sequence

from steelyard_operator.plan.attachment import Ancestor, PolicyResult
from steelyard_operator.plan.claim import Claim

from .intent import EventIntent
from .live import Live, bounded, text
from .programmed import RELOAD_FAILED, Programming
from .transition import find

_PROGRAM = frozenset({RELOAD_FAILED, "PolicyProgrammed"})


def policy_events(
    result: PolicyResult,
    parts: Sequence[tuple[Ancestor, Programming]],
    before: Mapping[str, Live],
) -> tuple[EventIntent, ...]:
    """`before` holds the stored ancestors by target."""
    found: list[EventIntent] = []
    for item, made in parts:
        stored = before.get(item.target, {})
        found += _accepted(result.claim, item, find(stored, "Accepted"))
        found += _programmed(result.claim, item, made, stored)
    return tuple(found)


def _accepted(claim: Claim, item: Ancestor, stored: Live) -> Iterator[EventIntent]:
    condition = item.condition
    same = stored.get("reason") == condition.reason
    occurrence = f"{claim.generation}/{condition.reason}/{text(stored, 'lastTransitionTime')}"
    if condition.status == "True" and not same:
        yield _event(claim, item, "PolicyAccepted", condition.message, occurrence)
    elif condition.reason == "TargetNotFound" and not same:
        words = f"{item.target}: {condition.message}"
        yield _event(claim, item, "PolicyTargetNotFound", words, occurrence, warning=True)
    elif item.rival is not None and not (same and stored.get("message") == condition.message):
        yield from _conflict(claim, item, item.rival, f"{occurrence}/{item.rival.name}")


def _conflict(claim: Claim, item: Ancestor, rival: Claim, occurrence: str) -> Iterator[EventIntent]:
    """On both: who lost should know, and who won may not have meant to."""
    lost = f"not used for LLMService {item.target}: {item.condition.message}"
    yield _event(claim, item, "PolicyConflicted", lost, occurrence, warning=True)
    won = f"SLOPolicy {claim.name} names LLMService {item.target} too; this one is older and stays"
    yield _event(
        rival, item, "PolicyConflicted", won, f"{claim.uid}/{occurrence}", warning=True,
        also=(claim.name,),
    )  # fmt: skip


def _programmed(
    claim: Claim, item: Ancestor, made: Programming, stored: Live
) -> Iterator[EventIntent]:
    condition, last = made.condition, find(stored, "Programmed")
    occurrence = f"{claim.generation}/{made.revision}"
    if condition.reason == RELOAD_FAILED:
        if (last.get("reason"), last.get("message")) != (RELOAD_FAILED, condition.message):
            words = f"LLMService {item.target}: {condition.message}"
            occurrence = f"{occurrence}/{bounded(condition.message, 200)}"
            yield _event(claim, item, RELOAD_FAILED, words, occurrence, warning=True)
        return
    known = last.get("status") in {"True", "Unknown"} and stored.get("revision") == made.revision
    if condition.status == "True" and not known:
        words = f"LLMService {item.target}: {condition.message}"
        yield _event(claim, item, "PolicyProgrammed", words, occurrence)


def _event(
    claim: Claim,
    item: Ancestor,
    reason: str,
    message: str,
    occurrence: str,
    *,
    warning: bool = False,
    also: tuple[str, ...] = (),
) -> EventIntent:
    return EventIntent(
        about="policy",
        name=claim.name,
        uid=claim.uid or "",
        type="Warning" if warning else "Normal",
        reason=reason,
        action="Program" if reason in _PROGRAM else "Attach",
        message=message,
        occurrence=occurrence,
        key=(item.target, *also),
        related=item.target,
    )
