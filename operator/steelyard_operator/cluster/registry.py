"""What kopf is told: which kinds to watch, how to log in, and to write nothing.

Only event handlers: no finalizers, no annotations, no daemons, no timers, no posted Events. The
registry is built by a call, so that two operators in one process do not meet in kopf's own.
"""

from collections.abc import Callable

import kopf

from steelyard_router.kube.resource import Resource

from .heard import SERVICE_LABEL, Heard, heard
from .login import Login
from .watched import LABELLED, OWN


def build_registry(tell: Callable[[Heard], None], login: Login) -> kopf.OperatorRegistry:
    """`tell` is called with every event, on kopf's thread."""
    registry = kopf.OperatorRegistry()
    # Permanent: whoever runs kopf starts it again, with a back-off shorter than kopf's own minute.
    kopf.on.login(registry=registry, id="login", errors=kopf.ErrorsMode.PERMANENT)(login.log_in)
    for resource in (*OWN, *LABELLED):
        _watch(registry, resource, tell)
    return registry


def build_settings(settings: kopf.OperatorSettings | None = None) -> kopf.OperatorSettings:
    """Watches that notice their own death, and no writes."""
    settings = settings or kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.posting.loggers = False
    settings.scanning.disabled = True  # neither namespaces nor CRDs: no rights needed on them
    settings.persistence.finalizer = "steelyard.io/never"  # never written; never a foreign one
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.error_backoffs = (1, 2, 4)  # then it ends, and is started again
    settings.watching.chunk_size = 500
    settings.background.cancellation_polling = 5
    for resource in LABELLED:
        settings.watching.label_selectors[resource.group, resource.version, resource.plural] = (
            SERVICE_LABEL
        )
    return settings


def _watch(
    registry: kopf.OperatorRegistry, resource: Resource, tell: Callable[[Heard], None]
) -> None:
    async def on_event(*, event: kopf.RawEvent, **_: object) -> None:
        body = dict(event["object"])
        body.setdefault("kind", resource.kind)  # lists leave it out
        tell(heard(event["type"], body))

    kopf.on.event(
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        registry=registry,
        id=f"hear-{resource.plural}",
    )(on_event)
