"""What to show of a running service, and what is new since the last look."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from steelyard_router.config import Policy

from .admin import AlertState, Status


@dataclass(frozen=True, slots=True)
class ServiceView:
    """One look at a service. `status` is None while its router cannot be asked."""

    name: str
    url: str
    admin_url: str
    engines: Mapping[str, str] = field(default_factory=dict)
    """State by name, of the engines that run here."""
    status: Status | None = None
    current: bool = False
    """Whether the router runs its configuration as it is now."""
    policy: Policy | None = None
    """The last one that the router reported to run."""

    @property
    def settled(self) -> bool:
        """Serving, with no engine still on its way in."""
        if self.status is None or not self.status.ready or not self.current:
            return False
        unprobed = any(instance.state == "unprobed" for instance in self.status.instances)
        return not unprobed and "starting" not in self.engines.values()


def news(before: ServiceView | None, after: ServiceView) -> Iterator[str]:
    """Sentences for people about what changed between two looks."""
    was, now = before.status if before else None, after.status
    if now is None:
        return
    if after.settled and not (before and before.settled):
        count = sum(instance.state == "ready" for instance in now.instances)
        yield (
            f"{after.name} is ready with {count} instance{'s' * (count != 1)}: {after.url}/v1 "
            f"(status: {after.admin_url}/status)"
        )
    if now.config_error and not (was and was.config_error == now.config_error):
        yield f"{after.name}: the router keeps its last configuration: {now.config_error}"
    if before and before.policy is not None and before.policy != after.policy:
        yield f"{after.name}: the edited policy is in force (revision {now.revision})"
    known = {_key(alert): alert for alert in was.alerts} if was else {}
    for alert in now.alerts:
        previous = known.get(_key(alert))
        fired_before = previous is not None and previous.firing
        if alert.firing and not fired_before:
            yield f"ALERT FIRING {_described(after, alert)}"
        elif fired_before and not alert.firing:
            yield f"ALERT RESOLVED {_described(after, alert)}"


def _key(alert: AlertState) -> tuple[str, str]:
    return alert.alert, alert.workload


def _described(view: ServiceView, alert: AlertState) -> str:
    where = f"{view.name}/{alert.alert} (workload {alert.workload or 'any'}): {alert.metric}"
    if alert.state == "NoData":
        return f"{where} has no data"
    if alert.value is None or alert.threshold is None:
        return f"{where} is {alert.state}"
    return f"{where} is {alert.value:,.0f}, threshold {alert.threshold:,.0f}"
