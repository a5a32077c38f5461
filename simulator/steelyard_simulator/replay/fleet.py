"""A fleet in virtual time: N engines, one or several routers, one heap of events.

Kept true: a router is told only what it could see (first byte and end of its own requests, their
growth now and then, polled metrics as late as they are); every request that arrives, held by its
router or not, ends in exactly one outcome; the same arguments give the same outcomes. Networks take
no time here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random
from types import MappingProxyType
from typing import Final

from steelyard_router.scheduling.request import SLO, Weights
from steelyard_simulator.engine.job import Event, EventKind, Job
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.agenda import Agenda, Rank
from steelyard_simulator.replay.change import Change, ChangeKind
from steelyard_simulator.replay.hold import Hold
from steelyard_simulator.replay.instance import Instance, Stream, instance_name
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.policy import Policy, holding
from steelyard_simulator.replay.polling import Polling
from steelyard_simulator.replay.prompt import chained, packed
from steelyard_simulator.replay.source import Due, Source
from steelyard_simulator.replay.view import RouterView

PROGRESS_S: Final = 0.25
"""Growth of replies is told at most this often."""
TRIES: Final = 3
"""Instances that a router tries for one request, as its configuration has it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`slos` and `weights` by workload; where one is not named, it has no targets."""

    poll_interval_s: float = 1.0
    metrics_delay_s: float = 0.0
    changes: tuple[Change, ...] = ()
    tell_speed: bool = False
    slos: Mapping[str, SLO] = field(default_factory=lambda: MappingProxyType({}))
    weights: Mapping[str, Weights] = field(default_factory=lambda: MappingProxyType({}))
    seed: int = 0


class Fleet:
    """One run: build it, then run() it once."""

    def __init__(
        self,
        profiles: Sequence[Profile],
        policies: Sequence[Policy],
        requests: Sequence[TraceRequest],
        source: Source,
        *,
        slowness: Sequence[float] = (),
        settings: Settings | None = None,
        on_outcome: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        self.settings = settings or Settings()
        self.outcomes: list[Outcome] = []
        self.retries = 0
        self.preemptions = 0
        self._requests = requests
        self._source = source
        self._on_outcome = on_outcome
        self._views = [RouterView(policy) for policy in policies]
        factors = [*slowness, *[1.0] * (len(profiles) - len(slowness))]
        self._instances = [
            Instance(instance_name(number), profile.slowed(factor), factor)
            for number, (profile, factor) in enumerate(zip(profiles, factors, strict=True))
        ]
        self._profile = profiles[0]
        self._ready: dict[str, Instance] = {}
        self._agenda = Agenda()
        self._polling = Polling(
            self._agenda,
            self._ready,
            self._settle,
            interval_s=self.settings.poll_interval_s,
            delay_s=self.settings.metrics_delay_s,
        )
        self._holds = self._pools()
        self._arrived = 0
        self._open = 0

    def run(self) -> list[Outcome]:
        """Plays everything; in the order of the ends."""
        for instance in self._instances:
            self._join(instance, 0.0)
        for change in self.settings.changes:
            self._agenda.add(change.at_s, Rank.CHANGE, partial(self._change, change))
        self._expect(self._source.first())
        self._polling.start(self._views, Random(self.settings.seed))
        self._agenda.run(lambda: self._open > 0)
        return self.outcomes

    def _pools(self) -> dict[RouterView, Hold]:
        """Of the routers that hold requests."""
        holds: dict[RouterView, Hold] = {}
        for view in self._views:
            if holding(view.policy):
                holds[view] = Hold(
                    view.policy,
                    self._agenda,
                    look=partial(self._look, view),
                    submit=self._submit,
                    drop=self._end,
                )
                view.stir = holds[view].stir
        return holds

    def _expect(self, due: Iterable[Due]) -> None:
        for at_s, number in due:
            self._open += 1
            self._agenda.add(at_s, Rank.ARRIVAL, partial(self._arrive, number))

    # -- requests ---------------------------------------------------------------------------------

    def _arrive(self, number: int, now: float) -> None:
        request, index = self._requests[number], self._arrived % len(self._views)
        self._arrived += 1
        view, block_tokens = self._views[index], self._profile.block_tokens
        hashes = chained(request, block_tokens)
        arrival = view.arrival(
            number,
            request,
            packed(hashes),
            now=now,
            block_tokens=block_tokens,
            slo=self.settings.slos.get(request.workload, SLO()),
            weights=self.settings.weights.get(request.workload, Weights()),
        )
        job = Job(str(number), request.input_tokens, request.output_tokens, tuple(hashes))
        self._place(Stream(arrival, job, view), now)

    def _place(self, stream: Stream, now: float) -> None:
        if not self._ready or stream.tries == TRIES:
            self._end(stream, now)
            return
        view = stream.view
        self._look(view, now)
        chosen = view.place(stream.arrival, now)
        if chosen is None:
            self._holds[view].take(stream, now)
        else:
            self._submit(stream, chosen, now)

    def _look(self, view: RouterView, now: float) -> None:
        """Before a decision: what its router can see of the state by now."""
        self._tell_progress(now)
        self._polling.refresh(view, now)

    def _submit(self, stream: Stream, name: str, now: float) -> None:
        instance = self._ready[name]
        stream.tries += 1
        stream.instance = instance
        instance.streams[stream.job.id] = stream
        instance.engine.submit(stream.job, now)
        self._settle(instance, now)

    def _end(
        self, stream: Stream, now: float, event: Event | None = None, *, rejected: bool = False
    ) -> None:
        """Counts it, well ended if there is an event, and lets come what waited for it."""
        arrival, instance = stream.arrival, stream.instance
        outcome = Outcome(
            number=arrival.id,
            workload=arrival.workload,
            instance=instance.name if instance else None,
            at_s=arrival.at_s,
            ttft_s=None if stream.first_s is None else stream.first_s - arrival.at_s,
            e2e_s=now - arrival.at_s if event else None,
            prompt_tokens=arrival.prompt_tokens,
            output_tokens=arrival.output_tokens,
            cached_tokens=event.cached_tokens if event else 0,
            open_s=now - arrival.at_s,
            wait_s=stream.wait_s,
            rejected=rejected,
        )
        stream.instance = None
        self.outcomes.append(outcome)
        self._on_outcome(outcome)
        self._open -= 1
        self._expect(self._source.after(arrival.id, now))

    # -- engines ----------------------------------------------------------------------------------

    def _wake(self, instance: Instance, now: float) -> None:
        if instance.wake_s == now:
            self._settle(instance, now)

    def _settle(self, instance: Instance, now: float) -> None:
        """Tells what the engine has done by now; looks again when it will have done more."""
        for event in instance.engine.advance(now):
            self._tell(instance, event)
        due = instance.engine.next_change_s
        if due is None:
            instance.wake_s = inf
        elif due != instance.wake_s:
            instance.wake_s = due
            self._agenda.add(due, Rank.ENGINE, partial(self._wake, instance))

    def _tell(self, instance: Instance, event: Event) -> None:
        stream = instance.streams[event.job.id]
        if event.kind is EventKind.FIRST_TOKEN:
            stream.first_s = event.at_s
            stream.view.first_byte(stream.arrival, event.at_s)
            if stream.view.policy.wants_progress:
                instance.follow(stream)
        elif event.kind is EventKind.FINISHED:
            del instance.streams[event.job.id]
            stream.view.finished(stream.arrival, event.at_s, event.cached_tokens)
            self._end(stream, event.at_s, event)
        else:
            stream.stalled = True
            self.preemptions += 1

    def _tell_progress(self, now: float) -> None:
        """Of all replies that have grown; done before a placement, since nobody looks earlier."""
        for instance in self._instances:
            if instance.streams and now - instance.told_s >= PROGRESS_S:
                instance.told_s = now
                self._settle(instance, now)
                for stream in instance.progressed():
                    stream.view.progress(stream.arrival, stream.told, now)

    # -- membership -------------------------------------------------------------------------------

    def _change(self, change: Change, now: float) -> None:
        if change.kind is ChangeKind.JOIN:
            while len(self._instances) <= change.instance:
                name = instance_name(len(self._instances))
                self._instances.append(Instance(name, self._profile))
            self._join(self._instances[change.instance], now)
            return
        if change.instance >= len(self._instances):
            return
        instance = self._instances[change.instance]
        if change.kind is ChangeKind.FLUSH:
            self._settle(instance, now)
            instance.engine.reset_cache()
        elif change.kind is ChangeKind.LEAVE:
            self._leave(instance, now)
        else:
            lost = self._fail(instance, now)
            if change.kind is ChangeKind.RESTART:
                self._join(instance, now)
            self._retry(lost, now)

    def _join(self, instance: Instance, now: float) -> None:
        if instance.name in self._ready:
            return
        self._ready[instance.name] = instance
        profile = instance.profile
        hint = 1 / instance.slowness if self.settings.tell_speed else None
        for view in self._views:
            view.join(
                instance.name,
                now,
                cache_tokens=profile.kv_tokens,
                block_tokens=profile.block_tokens,
                hint=hint,
            )

    def _leave(self, instance: Instance, now: float) -> None:
        if self._ready.pop(instance.name, None):
            for view in self._views:
                view.leave(instance.name, now)

    def _fail(self, instance: Instance, now: float) -> list[Stream]:
        """Connections break at once and the router ejects it; returns what had no first byte."""
        self._settle(instance, now)
        lost = instance.crash()
        for stream in lost:
            stream.view.failed(stream.arrival, now)
        self._leave(instance, now)
        for stream in lost:
            if stream.first_s is not None:
                self._end(stream, now)
        return [stream for stream in lost if stream.first_s is None]

    def _retry(self, lost: Sequence[Stream], now: float) -> None:
        for stream in lost:
            stream.instance = None
            self.retries += 1
            self._place(stream, now)
