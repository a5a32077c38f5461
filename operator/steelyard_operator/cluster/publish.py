"""Stores a status that differs from the stored one, after posting what changed as Events.

In this order, so that whoever is stopped in between leaves the old status: the next one finds the
same change and posts the same occurrences, which the writer of Events knows again.
"""

import hashlib
import logging
from collections.abc import Mapping

import orjson

from steelyard_operator.plan.status.intent import EventIntent, StatusPlan
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import Event, EventWriter, Subject
from steelyard_router.kube.resource import LLM_SERVICE, SLO_POLICY, Object, Resource

MANAGER = "steelyard-status"
FORBIDDEN = 403

Uids = Mapping[tuple[str, str], str]
"""Of the objects that Events may be about: by kind and name."""

log = logging.getLogger(__name__)


class Publisher:
    """Writes statuses and Events of both kinds."""

    def __init__(self, kube: Kube, events: EventWriter) -> None:
        self._kube = kube
        self._events = events
        self._stored: dict[str, tuple[str, str]] = {}
        """By uid: the resourceVersion after our last write, and a digest of what we wrote."""

    def forget(self, uid: str) -> None:
        self._stored.pop(uid, None)

    async def publish(self, resource: Resource, body: Object, plan: StatusPlan, uids: Uids) -> bool:
        """Whether the status was written. Raises KubeError."""
        for intent in plan.events:
            await self._post(body, intent, uids)
        status = orjson.loads(orjson.dumps(plan.status))
        if status == body.get("status"):
            return False
        metadata = body["metadata"]
        uid, asked = metadata["uid"], _digest(status)
        if self._stored.get(uid) == (metadata["resourceVersion"], asked):
            return False  # what differs belongs to somebody else
        written = await self._kube.apply(
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {key: metadata[key] for key in ("name", "namespace", "uid")},
                "status": status,
            },
            manager=MANAGER,
            subresource="status",
        )
        self._stored[uid] = (str(written["metadata"]["resourceVersion"]), asked)
        return True

    async def _post(self, body: Object, intent: EventIntent, uids: Uids) -> None:
        namespace = body["metadata"]["namespace"]
        resource = SLO_POLICY if intent.about == "policy" else LLM_SERVICE
        uid = intent.uid or uids.get((resource.kind, intent.name))
        if uid is None:
            return  # nobody could see it: `kubectl describe` finds Events by uid
        event = Event(
            involved=_subject(resource, namespace, intent.name, uid),
            reason=intent.reason,
            message=intent.message,
            type=intent.type,
            action=intent.action,
            occurrence=intent.occurrence,
            key=intent.key,
            related=_related(namespace, intent.related, uids),
        )
        try:
            await self._events.post(event)
        except KubeError as error:
            if not (error.status == FORBIDDEN or error.invalid):
                raise
            # An Event that is never accepted must not keep the status from being stored. A token
            # that has just run out (401) is another matter: it is soon replaced.
            log.warning("Event %s on %s is not posted: %s", event.reason, intent.name, error)


def _related(namespace: str, name: str | None, uids: Uids) -> Subject | None:
    uid = uids.get((LLM_SERVICE.kind, name)) if name is not None else None
    if name is None or uid is None:
        return None
    return _subject(LLM_SERVICE, namespace, name, uid)


def _subject(resource: Resource, namespace: str, name: str, uid: str) -> Subject:
    return Subject(resource.api_version, resource.kind, namespace, name, uid)


def _digest(status: Object) -> str:
    return hashlib.sha256(orjson.dumps(status, option=orjson.OPT_SORT_KEYS)).hexdigest()
