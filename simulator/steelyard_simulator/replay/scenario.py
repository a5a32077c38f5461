"""A run as a value: which fleet, which load, what routers see; and the function that runs it.

Everything in it can be sent to another process. The seed decides what chance decides: it draws the
requests of a mix, delays each arrival by up to JITTER_S (the same for every policy, so that runs of
one seed can be compared), sets the rhythm in which metrics are polled, and is given to the policy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from time import perf_counter, process_time
from typing import Final

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.engine.profile import Profile, profile
from steelyard_simulator.load.mix import Mix
from steelyard_simulator.load.selection import Window, jittered, plan, poisson
from steelyard_simulator.load.trace import Trace, TraceRequest
from steelyard_simulator.replay.change import Change
from steelyard_simulator.replay.fleet import Fleet, Settings
from steelyard_simulator.replay.instance import instance_name
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.policy import Options, Policy
from steelyard_simulator.replay.report import Report, Setup, report
from steelyard_simulator.replay.scheduler import NONE, build
from steelyard_simulator.replay.source import ClosedLoop, OpenLoop

JITTER_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Hardware:
    """`slow` holds (count, factor): so many instances, from the last one on, that much slower.
    `max_sequences` and `kv_tokens`: what an engine runs at a time, and has memory for, where it is
    not the profile's.
    """

    instances: int = 16
    profile: str = "reference"
    slow: tuple[tuple[int, float], ...] = ()
    changes: tuple[Change, ...] = ()
    max_sequences: int | None = None
    kv_tokens: int | None = None

    def profiles(self, block_tokens: int | None) -> list[Profile]:
        """Of all instances, with blocks as the trace has them. Raises ValueError."""
        each = profile(self.profile)
        if block_tokens is not None:
            each = replace(each, block_tokens=block_tokens)
        if self.max_sequences is not None:
            each = replace(each, max_num_seqs=self.max_sequences)
        if self.kv_tokens is not None:
            each = replace(each, kv_tokens=self.kv_tokens)
        return [each] * self.instances

    def slowness(self) -> list[float]:
        """A factor per instance. Raises ValueError if `slow` names more instances than there
        are."""
        factors = [factor for count, factor in self.slow for _ in range(count)]
        if len(factors) > self.instances:
            raise ValueError(f"{len(factors)} slow instances are more than {self.instances}")
        return [1.0] * (self.instances - len(factors)) + factors


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked, and when. `users` holds for the closed loop alone."""

    window: Window = field(default_factory=Window)
    rate_scale: float = 1.0
    spread: bool = True
    poisson: bool = False
    closed: bool = False
    users: int | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What routers see, and how many of them there are."""

    routers: int = 1
    poll_interval_s: float = 1.0
    metrics_delay_s: float = 0.0
    tell_speed: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """`slos` by workload; `slo` is that of all others."""

    hardware: Hardware = field(default_factory=Hardware)
    load: Load = field(default_factory=Load)
    sight: Sight = field(default_factory=Sight)
    slo: SLO = field(default_factory=SLO)
    slos: Mapping[str, SLO] = field(default_factory=dict)


def drawn(load: Trace | Mix, seed: int) -> Trace:
    """What is asked in a run of that seed."""
    return load.draw(seed) if isinstance(load, Mix) else load


def prepare(trace: Trace, scenario: Scenario) -> tuple[TraceRequest, ...]:
    """The requests that the fleet can serve, without the seed's part."""
    load, window = scenario.load, scenario.load.window
    longest = min(one.longest for one in scenario.hardware.profiles(_block_tokens(trace)))
    most = min(window.max_input or longest, longest - 1)
    chosen = plan(
        trace, replace(window, max_input=most), speed=load.rate_scale, even=load.spread
    ).requests
    return tuple(
        request
        if request.input_tokens + request.output_tokens <= longest
        else replace(request, output_tokens=longest - request.input_tokens)
        for request in chosen
    )


def run(
    asked: Trace | Mix,
    scenario: Scenario,
    policy: str,
    seed: int,
    *,
    scheduler: str = NONE,
    on_done: Callable[[], None] = lambda: None,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> Report:
    """Plays the load once. Raises ValueError for what cannot be."""

    def ended(outcome: Outcome) -> None:
        on_outcome(outcome)
        on_done()

    wall_s, cpu_s = perf_counter(), process_time()
    hardware, load, rng = scenario.hardware, scenario.load, Random(seed)
    trace = drawn(asked, seed)
    requests = prepare(trace, scenario)
    if load.poisson:
        requests = poisson(requests, rng)
    requests = jittered(requests, JITTER_S, rng)
    profiles, slos = hardware.profiles(_block_tokens(trace)), _slos(asked, scenario, requests)
    fleet = Fleet(
        profiles,
        _policies(scenario, scheduler, policy, profiles[0], rng),
        requests,
        ClosedLoop(requests, users=load.users) if load.closed else OpenLoop(requests),
        slowness=hardware.slowness(),
        settings=_settings(scenario, slos, rng.getrandbits(32)),
        on_outcome=ended,
    )
    setup = Setup(
        trace=trace.path.name,
        policy=policy,
        scheduler=scheduler,
        instances=hardware.instances,
        max_sequences=profiles[0].max_num_seqs,
        kv_tokens=profiles[0].kv_tokens,
        rate_scale=load.rate_scale,
        rate_per_s=asked.rate_per_s if isinstance(asked, Mix) else None,
        seed=seed,
    )
    return report(
        fleet.run(),
        setup,
        slos=slos,
        retries=fleet.retries,
        preemptions=fleet.preemptions,
        wall_s=perf_counter() - wall_s,
        cpu_s=process_time() - cpu_s,
    )


def _slos(
    asked: Trace | Mix, scenario: Scenario, requests: Sequence[TraceRequest]
) -> dict[str, SLO]:
    """By workload. A mix brings its own."""
    known = asked.slos if isinstance(asked, Mix) else scenario.slos
    workloads = {request.workload for request in requests}
    return {name: known.get(name, scenario.slo) for name in sorted(workloads)}


def _policies(
    scenario: Scenario, scheduler: str, policy: str, profile: Profile, rng: Random
) -> list[Policy]:
    """One for each router, each with a seed of its own."""
    slowness = enumerate(scenario.hardware.slowness())
    options = Options(
        profile=profile,
        slowness={instance_name(n): factor for n, factor in slowness if factor != 1},
        routers=scenario.sight.routers,
    )
    return [
        build(scheduler, policy, seed=rng.getrandbits(32), options=replace(options, router=router))
        for router in range(scenario.sight.routers)
    ]


def _settings(scenario: Scenario, slos: Mapping[str, SLO], seed: int) -> Settings:
    sight = scenario.sight
    return Settings(
        poll_interval_s=sight.poll_interval_s,
        metrics_delay_s=sight.metrics_delay_s,
        changes=scenario.hardware.changes,
        tell_speed=sight.tell_speed,
        slos=slos,
        seed=seed,
    )


def _block_tokens(trace: Trace) -> int | None:
    """None: its prompts have nothing in common, so that the engine's own block size is as good."""
    return trace.block_tokens if any(request.blocks for request in trace.requests) else None
