"""An instance as /status and the metrics show it."""

from steelyard_router.observability.snapshot import InstanceView
from steelyard_router.proxy.roster import Member
from steelyard_router.scheduling.scheduler import InstanceLoad


def instance_view(member: Member, load: InstanceLoad, now: float) -> InstanceView:
    breaker = member.breaker.state(now).value
    return InstanceView(
        id=member.id,
        url=member.endpoint.url,
        state=_state(member, breaker),
        healthy=member.healthy is True,
        breaker=breaker,
        limit=load.limit,
        queued_tokens=load.queued_tokens,
        requests=load.requests,
        context_tokens=load.context_tokens,
        index_blocks=load.index_blocks,
        leases=load.leases,
        models=tuple(sorted(member.models or ())),
        coefficients=load.coefficients,
        trusted=load.trusted,
        pace=load.pace,
        width=load.width,
    )


def _state(member: Member, breaker: str) -> str:
    """In one word, what keeps requests away from the member; "ready" when nothing does."""
    if member.draining:
        return "draining"
    if member.healthy is False:
        return "unhealthy"
    if member.waiting:
        return "last_resort" if member.limit > 0 else "not_ready"
    if member.healthy is None:
        return "unprobed"  # requests may go there already, but readiness waits for the first probe
    return "ready" if member.limit > 0 else breaker
