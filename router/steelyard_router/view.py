"""The whole router as /status, the metrics and the probes show it: read off its parts."""

from steelyard_router.alerts.judge import Judge
from steelyard_router.config import Kubernetes
from steelyard_router.observability.snapshot import IndexView, RouterSnapshot
from steelyard_router.proxy.membership import Membership
from steelyard_router.proxy.runtime import Runtime
from steelyard_router.proxy.view import instance_view


def router_view(
    runtime: Runtime,
    membership: Membership,
    alerts: Judge,
    now: float,
    *,
    draining: bool,
    config_error: str | None,
    replica: str | None,
    in_cluster: bool,
    unheard: str | None,
    problem: str | None,
) -> RouterSnapshot:
    """`unheard` and `problem` are what discovery says of itself and of what it found."""
    index, config = runtime.scheduler.index, runtime.active.config
    members = {member.id: member for member in runtime.roster} | membership.leaving
    loads = {load.instance: load for load in runtime.scheduler.snapshot(now)}
    return RouterSnapshot(
        revision=config.revision,
        draining=draining,
        leases_held=runtime.scheduler.leases_held,
        running=runtime.admission.running,
        waiting=runtime.admission.waiting + len(runtime.line),
        in_line=len(runtime.line),
        yielding=runtime.line.yielding,
        would_wait=dict(runtime.line.would_wait),
        index=IndexView(index.block_count, index.holder_count, index.bytes, index.budget_evictions),
        instances=tuple(instance_view(m, loads[id_], now) for id_, m in members.items()),
        alerts=tuple(alerts.states()),
        config_error=config_error,
        holder=alerts.holder,
        service=alerts.figures,
        events_posted=alerts.posted,
        events_dropped=alerts.dropped,
        replica=replica,
        policy_ref=config.policy_ref,
        no_endpoint=_no_endpoint(config.kubernetes, unheard or problem),
        engines_are_found=in_cluster and _finds_engines(config.kubernetes),
        unheard=unheard,
    )


def _finds_engines(place: Kubernetes | None) -> bool:
    return place is not None and place.engine_service is not None


def _no_endpoint(place: Kubernetes | None, told: str | None) -> str:
    if place is None or place.engine_service is None:
        return "the configuration names no endpoint"
    return told or f"Service {place.engine_service} has no endpoint"
