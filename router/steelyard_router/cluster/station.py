"""Who this replica is, and what it uses to speak for its LLMService: one place for the names."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from steelyard_router.config import Kubernetes, ObjectRef
from steelyard_router.kube.client import Kube
from steelyard_router.kube.event import EventWriter, Posting, Subject
from steelyard_router.kube.lease import Election
from steelyard_router.kube.resource import LLM_SERVICE, Resource

COMPONENT = "steelyard-router"
"""What Events and the API server's logs call a router."""


@dataclass(frozen=True, slots=True)
class Station:
    """`name` is the pod's. `clock` is steady, `wall` gives Unix time."""

    kube: Kube
    place: Kubernetes
    name: str
    clock: Callable[[], float]
    wall: Callable[[], float]
    rng: random.Random

    @property
    def service(self) -> Subject:
        return service_of(self.place)

    def subject(self, resource: Resource, ref: ObjectRef) -> Subject:
        return _subject(self.place, resource, ref)

    def election(self) -> Election:
        """For the Lease of this router, which goes with the LLMService."""
        service = self.place.service
        owner = {
            "apiVersion": LLM_SERVICE.api_version,
            "kind": LLM_SERVICE.kind,
            "name": service.name,
            "uid": service.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }
        labels = {
            "app.kubernetes.io/name": "steelyard",
            "app.kubernetes.io/instance": service.name,
            "app.kubernetes.io/component": "router",
            "steelyard.io/service": service.name,
            "steelyard.io/component": "router",
        }
        return Election(
            self.kube,
            self.place.namespace,
            self.place.lease,
            identity=self.name,
            owner=owner,
            labels=labels,
            clock=self.clock,
            wall=self.wall,
            rng=self.rng,
        )

    def writer(self, counted: Callable[[str, Posting], None]) -> EventWriter:
        return EventWriter(
            self.kube,
            component=COMPONENT,
            instance=self.name,
            wall=self.wall,
            clock=self.clock,
            counted=counted,
        )


def service_of(place: Kubernetes) -> Subject:
    """The LLMService that a router of that configuration serves."""
    return _subject(place, LLM_SERVICE, place.service)


def _subject(place: Kubernetes, resource: Resource, ref: ObjectRef) -> Subject:
    return Subject(resource.api_version, resource.kind, place.namespace, ref.name, ref.uid)
