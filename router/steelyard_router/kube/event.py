"""Kubernetes Events that `kubectl describe` shows, each occurrence posted exactly once.

kubectl finds an object's Events by its uid and prints `count` as (xN over T), so an Event here has
a name that follows from (object, key, reason): what happens again raises the count of the one that
is there, which also renews its time to live. The form is core/v1 because only that can be patched.

Every occurrence carries its identity in an annotation, and every write is guarded by the version
that was read. So whoever posts an occurrence again (after a crash, after a lost answer, or two
writers at once) changes nothing. An Event that the API server has let expire starts anew at 1.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from .bucket import TokenBuckets
from .client import Kube
from .error import KubeError
from .resource import EVENT, Object

OCCURRENCE = "steelyard.io/occurrence"
MESSAGE_BYTES = 1024
NAME_CHARS = 253
REMEMBERED = 4096
"""Events whose last occurrence is known without asking."""
ATTEMPTS = 5
"""Of one write against other writers of the same Event."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that an Event is about. Without its uid, `kubectl describe` shows nothing."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def reference(self) -> Object:
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }


@dataclass(frozen=True, slots=True)
class Event:
    """One occurrence of something that is counted under (involved, key, reason).

    `occurrence` tells this one from the others. With `ordered`, occurrences sort as text, and one
    that is older than what was posted last is not posted any more. `at` is when it happened, in
    Unix time; absent: when it is posted.
    """

    involved: Subject
    reason: str
    message: str
    type: Literal["Normal", "Warning"]
    action: str
    occurrence: str
    key: tuple[str, ...] = ()
    related: Subject | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = False
    at: float | None = None

    @property
    def name(self) -> str:
        """A valid object name: the involved object's, cut where it must be, and a hash."""
        parts = "\0".join((self.involved.uid, *self.key, self.reason))
        tail = "." + hashlib.sha256(parts.encode()).hexdigest()[:16]
        return self.involved.name[: NAME_CHARS - len(tail)].rstrip("-.") + tail

    def was_posted(self, occurrence: str | None) -> bool:
        """Whether this one, or with `ordered` a later one, is `occurrence`."""
        if occurrence is None:
            return False
        return occurrence == self.occurrence or (self.ordered and occurrence > self.occurrence)


class Posting(StrEnum):
    """What became of an occurrence."""

    POSTED = "posted"
    KNOWN = "known"
    """It was posted before."""
    DROPPED = "dropped"
    """Its object has had too many Events of late."""


class EventWriter:
    """Posts Events in the name of `component`; `instance` is the process, such as a pod's name.

    `wall` is Unix time, `clock` a steady one. `counted(reason, posting)` is told of every outcome,
    for metrics.
    """

    def __init__(
        self,
        kube: Kube,
        *,
        component: str,
        instance: str,
        wall: Callable[[], float],
        clock: Callable[[], float],
        counted: Callable[[str, Posting], None] = lambda _reason, _posting: None,
    ) -> None:
        self._kube = kube
        self._component = component
        self._instance = instance
        self._wall = wall
        self._buckets = TokenBuckets(clock=clock)
        self._counted = counted
        self._last: OrderedDict[str, str] = OrderedDict()

    async def post(self, event: Event) -> bool:
        """Whether it was posted now; False if it was before, or its object has had too many."""
        return await self.write(event) is Posting.POSTED

    async def write(self, event: Event) -> Posting:
        """As `post`, and says why not. KubeError: not known to be posted; post it again later."""
        place = f"{event.involved.namespace}/{event.name}"
        if event.was_posted(self._last.get(place)):
            return Posting.KNOWN
        for _ in range(ATTEMPTS):
            live = await self.read(event.name, event.involved.namespace)
            occurrence = _occurrence(live)
            if occurrence is not None and event.was_posted(occurrence):
                self._remember(place, occurrence)
                return self._count(event, Posting.KNOWN)
            if not self._buckets.take(event.involved.uid):
                return self._count(event, Posting.DROPPED)
            try:
                await self._put(event, live)
            except KubeError as error:
                self._buckets.give_back(event.involved.uid)
                if not (error.conflict or (error.not_found and live is not None)):
                    raise
            else:
                self._remember(place, event.occurrence)
                return self._count(event, Posting.POSTED)
        raise KubeError(409, "Conflict", f"Event {place} is written by others all the time")

    async def read(self, event_name: str, namespace: str) -> Object | None:
        """The Event as the API server has it; None if there is none (any more)."""
        return await self._kube.get(EVENT, namespace, event_name)

    async def _put(self, event: Event, live: Object | None) -> None:
        at = self._wall() if event.at is None else event.at
        now = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        what = {
            "message": _ascii(event.message),
            "type": event.type,
            "action": event.action,
            "related": event.related and event.related.reference(),
            "lastTimestamp": now,
        }
        annotations = {**event.annotations, OCCURRENCE: event.occurrence}
        namespace = event.involved.namespace
        if live is not None:
            version = live["metadata"]["resourceVersion"]
            patch = what | {
                "metadata": {"resourceVersion": version, "annotations": annotations},
                "count": int(live.get("count") or 1) + 1,
            }
            await self._kube.merge(EVENT, namespace, event.name, patch)
            return
        metadata = {"name": event.name, "namespace": namespace, "annotations": annotations}
        body: Object = {"apiVersion": "v1", "kind": "Event", "metadata": metadata} | what
        await self._kube.create(body | self._origin(event) | {"firstTimestamp": now, "count": 1})

    def _origin(self, event: Event) -> Object:
        return {
            "involvedObject": event.involved.reference(),
            "reason": event.reason,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance[:128],
        }

    def _remember(self, place: str, occurrence: str) -> None:
        self._last[place] = occurrence
        self._last.move_to_end(place)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)

    def _count(self, event: Event, posting: Posting) -> Posting:
        self._counted(event.reason, posting)
        return posting


def _occurrence(live: Object | None) -> str | None:
    if live is None:
        return None
    value = (live["metadata"].get("annotations") or {}).get(OCCURRENCE)
    return value if isinstance(value, str) else None


def _ascii(message: str) -> str:
    """At most MESSAGE_BYTES of printable ASCII on one line."""
    line = re.sub(r"[^ -~]", "?", re.sub(r"\s+", " ", message).strip())
    return line if len(line) <= MESSAGE_BYTES else line[: MESSAGE_BYTES - 3] + "..."
