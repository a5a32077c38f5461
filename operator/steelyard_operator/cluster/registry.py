"""What kopf is told: which kinds to watch, how to log in, and to write nothing.

Only event handlers: no finalizers, no annotations, no daemons, no timers, no posted Events. The
registry is built by a call, so that two operators in one process do not meet in kopf's own.
"""

import asyncio
from collections.abc import Callable

import kopf

from steelyard_operator.plan.child.manifest import SERVICE_LABEL
from steelyard_router.kube.resource import Resource

from .heard import Heard, heard
from .login import Login
from .watched import LABELLED, OWN

WATCH_TASK = "watcher for "
"""How kopf calls the tasks of its watches."""
ENDING_S = 5.0


def build_registry(
    tell: Callable[[Heard], None], login: Login, ending: Callable[[], None]
) -> kopf.OperatorRegistry:
    """`tell` is called with every event, on kopf's thread; `ending` when kopf begins to end."""
    registry = kopf.OperatorRegistry()
    # Permanent: whoever runs kopf starts it again, with a back-off shorter than kopf's own minute.
    kopf.on.login(registry=registry, id="login", errors=kopf.ErrorsMode.PERMANENT)(login.log_in)
    for resource in (*OWN, *LABELLED):
        _watch(registry, resource, tell)

    async def on_cleanup(**_: object) -> None:
        ending()
        await _end_watches()

    kopf.on.cleanup(registry=registry, id="cleanup")(on_cleanup)
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


async def _end_watches() -> None:
    """Where one watch dies, kopf 1.45 closes its credentials under the others, which then wait for
    a login that never comes, and so it never ends. They have to go first.
    """
    watches = [task for task in asyncio.all_tasks() if task.get_name().startswith(WATCH_TASK)]
    for task in watches:
        task.cancel()
    if watches:
        await asyncio.wait(watches, timeout=ENDING_S)
