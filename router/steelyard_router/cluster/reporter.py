"""Turns what alerts report into Events, and posts them whenever the API server lets it.

What waits is kept by the Event's name, the newest only, so an outage costs bounded memory and ends
with the right last word. Nothing is posted while `may_post` says no; an occurrence that was posted
already, by whomever, is not posted again (kube/event.py).
"""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable

from steelyard_router.alerts.transition import Kind, Transition
from steelyard_router.cluster.incident import Incident, Memory
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import Event, EventWriter, Posting, Subject

WAITING = 2048
"""Events kept for later: four for each of 16 alerts x 16 workloads, and as many of others."""
BACKOFF_S = 1.0
BACKOFF_MAX_S = 30.0
IDLE_S = 60.0

log = logging.getLogger(__name__)


class Reporter:
    """The reports of one LLMService's alerts. `wall` is Unix time at the steady `clock`'s now."""

    def __init__(
        self,
        writer: EventWriter,
        service: Subject,
        *,
        may_post: Callable[[], bool],
        dropped: Callable[[str], None],
        clock: Callable[[], float],
        wall: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self._writer = writer
        self._service = service
        self._may_post = may_post
        self._dropped = dropped
        self._clock = clock
        self._wall = wall
        self._rng = rng
        self._incidents: dict[tuple[str, str], Incident] = {}
        self._newest_ms: dict[tuple[str, str], int] = {}
        self._waiting: OrderedDict[str, Event] = OrderedDict()
        self._wake = asyncio.Event()
        self._backoff_s = BACKOFF_S

    def take(self, transition: Transition, policy: Subject | None) -> None:
        """Report it. `policy` is where a new firing's rule comes from."""
        key = transition.alert, transition.workload
        at_ms = self._wall_ms(transition.at)
        incident = self._incidents.get(key)
        if transition.kind is Kind.CLEARED:
            if incident is not None:
                self._end(incident, transition.message, at_ms)
            return
        if incident is None or transition.kind is Kind.FIRED:
            incident = self._begin(transition, policy, at_ms)
        else:
            incident = incident.repeated(transition.message, at_ms)
        self._incidents[key] = incident
        self._post(incident.firing())

    def start_over(self, memory: Memory) -> None:
        """Know only what the Events say."""
        self.forget()
        self._newest_ms = dict(memory.newest_ms)

    def adopt(self, incident: Incident) -> None:
        """Go on with another process's firing. It may have died between its two Events."""
        self._incidents[incident.key] = incident
        self._post(incident.firing())

    def close(self, incident: Incident) -> None:
        """End another process's firing: its rule is not there any more."""
        message = (
            f"SLOAlertResolved {incident.alert}: the rule was changed or removed"
            f" in workload {incident.workload}"
        )
        log.info("%s", message)
        self._end(incident, message, round(self._wall() * 1000))

    def forget(self) -> None:
        """Somebody else reports from now on."""
        self._incidents, self._newest_ms = {}, {}
        self._waiting.clear()

    @property
    def waiting(self) -> int:
        """Events that are not known to be posted."""
        return len(self._waiting)

    async def run(self) -> None:
        """Never ends by itself. Cancel it."""
        while True:
            self._wake.clear()
            pause_s = await self.step()
            try:
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def step(self) -> float:
        """Post what waits, in order; the seconds until it should be tried again."""
        late = False
        for name, event in list(self._waiting.items()):
            if not self._may_post():
                return BACKOFF_S
            if self._waiting.get(name) is not event:
                continue  # a newer one has come
            try:
                posting = await self._writer.write(event)
            except KubeError as error:
                if not error.invalid:
                    return self._back_off(error)
                log.error("the API server refuses an Event for good: %s", error)  # noqa: TRY400
                self._dropped(event.reason)
            else:
                if posting is Posting.DROPPED:
                    late = True
                    continue
            if self._waiting.get(name) is event:
                del self._waiting[name]
        self._backoff_s = BACKOFF_S
        return BACKOFF_MAX_S if late else IDLE_S

    def _begin(self, transition: Transition, policy: Subject | None, at_ms: int) -> Incident:
        """Later than any before it, even where the wall clock was set back."""
        key = transition.alert, transition.workload
        since_ms = max(at_ms, self._newest_ms.get(key, 0) + 1)
        self._newest_ms[key] = since_ms
        return Incident(
            service=self._service,
            policy=policy,
            alert=transition.alert,
            workload=transition.workload,
            rule=transition.rule,
            severity="Normal" if transition.severity == "Normal" else "Warning",
            message=transition.message,
            threshold=transition.threshold,
            since_ms=since_ms,
            notified_ms=since_ms,
        )

    def _end(self, incident: Incident, message: str, at_ms: int) -> None:
        self._incidents.pop(incident.key, None)
        self._post(incident.resolved(message, max(at_ms, incident.since_ms)))

    def _post(self, events: list[Event]) -> None:
        for event in events:
            self._waiting[event.name] = event
            self._waiting.move_to_end(event.name)
        while len(self._waiting) > WAITING:
            _, lost = self._waiting.popitem(last=False)
            self._dropped(lost.reason)
            log.error("too many Events wait for the API server: one of %s is lost", lost.involved)
        self._wake.set()

    def _back_off(self, error: KubeError) -> float:
        if self._backoff_s == BACKOFF_S:
            log.warning("%d Events of alerts wait to be posted: %s", len(self._waiting), error)
        pause_s = self._backoff_s * self._rng.uniform(0.5, 1.5)
        self._backoff_s = min(self._backoff_s * 2, BACKOFF_MAX_S)
        return pause_s

    def _wall_ms(self, moment: float) -> int:
        return round((self._wall() - (self._clock() - moment)) * 1000)
