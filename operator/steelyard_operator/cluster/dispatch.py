"""Whose turn it is after an event: an object, and those whose plan depends on it.

    a policy  -> every service that it names or named, then itself
    a service -> itself, then the policies that name it
    a child   -> its service; if a router's pod, then the policies of that service

"Then" is a moment later, so that one reconcile finds the work of the other done.
"""

from collections.abc import Callable, Iterable

from .heard import Heard
from .key import ObjectKey, policy_key, service_key

CHILD_DELAY_S = 0.2
"""Children change in bursts, above all during a rollout."""
FOLLOWER_DELAY_S = 0.5
STATUS_DELAY_S = 2.0
"""A status is nearly always our own writing. If it should ever say something else each time, then
every such round waits for that long.
"""
LISTED_EACH_S = 0.1
"""Between the turns of two objects that were only listed."""

Add = Callable[[ObjectKey, float], None]


class Dispatcher:
    """Knows, as last heard, which policies name which services."""

    def __init__(self, add: Add) -> None:
        self._add = add
        self._wishes: dict[ObjectKey, str] = {}
        self._targets: dict[ObjectKey, tuple[str, ...]] = {}

    def hear(self, event: Heard, rest_s: float = STATUS_DELAY_S) -> None:
        """`rest_s`: how long an object may wait of which no more than the status changed."""
        if event.kind == "LLMService":
            key = service_key(event.namespace, event.name)
            news = self._is_news(key, event)
            self._add(key, 0.0 if news else rest_s)
            if news:
                self._add_policies(event.namespace, event.name)
        elif event.kind == "SLOPolicy":
            self._hear_policy(policy_key(event.namespace, event.name), event, rest_s)
        elif event.service is not None:
            self._add(service_key(event.namespace, event.service), CHILD_DELAY_S)
            if event.kind == "Pod" and event.component == "router":
                self._add_policies(event.namespace, event.service)

    def listed(self, events: Iterable[Heard]) -> None:
        """All objects of both kinds at one moment: all get their turn, the vanished ones too. Those
        of which nothing new is known come one after the other, so that an edit does not wait behind
        hundreds of them.
        """
        heard = list(events)
        there = {(event.kind, event.namespace, event.name) for event in heard}
        gone = [key for key in self._wishes if key not in there]
        for at, event in enumerate(heard):
            self.hear(event, at * LISTED_EACH_S)
        for key in gone:  # or younger than the listing: its reconcile will see
            self._add(key, 0.0)

    def gone(self, key: ObjectKey) -> None:
        """A reconcile found that there is no such object."""
        self._wishes.pop(key, None)
        lost = self._targets.pop(key, ())
        self._add_services(key.namespace, lost)
        for service in lost:  # rivals: one of them may be in force now
            self._add_policies(key.namespace, service)

    def follow(self, namespace: str, service: str) -> None:
        """The service's configuration was changed just now: its policies have news to tell."""
        self._add_policies(namespace, service)

    def _hear_policy(self, key: ObjectKey, event: Heard, rest_s: float) -> None:
        before = self._targets.get(key, ())
        if event.deleted:
            self._add(key, FOLLOWER_DELAY_S)
            self.gone(key)
            return
        self._targets[key] = event.targets
        if not self._is_news(key, event):
            self._add(key, rest_s)
            return
        self._add_services(key.namespace, {*before, *event.targets})
        self._add(key, FOLLOWER_DELAY_S)
        for service in {*before, *event.targets}:  # rivals: who wins may have changed
            self._add_policies(key.namespace, service)

    def _is_news(self, key: ObjectKey, event: Heard) -> bool:
        """Whether more than the status changed."""
        if event.deleted:
            self._wishes.pop(key, None)
            return True
        before = self._wishes.get(key)
        self._wishes[key] = event.wish
        return before != event.wish

    def _add_services(self, namespace: str, names: Iterable[str]) -> None:
        for name in names:
            self._add(service_key(namespace, name), 0.0)

    def _add_policies(self, namespace: str, service: str) -> None:
        for key, targets in self._targets.items():
            if key.namespace == namespace and service in targets:
                self._add(key, FOLLOWER_DELAY_S)
