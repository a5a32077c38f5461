"""A run as a value: which fleet, which load, what routers see; and the function that runs it.

Everything in it can be sent to another process. The seed decides what chance decides: it delays
each arrival by up to JITTER_S (the same for every policy, so that runs of one seed can be
compared), sets the rhythm in which metrics are polled, and is given to the policy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from time import perf_counter, process_time
from typing import Final

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.engine.profile import Profile, profile
from steelyard_simulator.load.selection import Window, jittered, plan, poisson
from steelyard_simulator.load.trace import Trace, TraceRequest
from steelyard_simulator.replay.change import Change
from steelyard_simulator.replay.fleet import Fleet, Settings
from steelyard_simulator.replay.instance import instance_name
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.policy import Options
from steelyard_simulator.replay.registry import build_policy
from steelyard_simulator.replay.report import Report, report
from steelyard_simulator.replay.source import ClosedLoop, OpenLoop

JITTER_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Hardware:
    """`slow` holds (count, factor): so many instances, from the last one on, that much slower."""

    instances: int = 16
    profile: str = "reference"
    slow: tuple[tuple[int, float], ...] = ()
    changes: tuple[Change, ...] = ()

    def profiles(self, block_tokens: int | None) -> list[Profile]:
        """Of all instances, with blocks as the trace has them. Raises ValueError."""
        each = profile(self.profile)
        if block_tokens is not None:
            each = replace(each, block_tokens=block_tokens)
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
    trace: Trace,
    scenario: Scenario,
    policy: str,
    seed: int,
    *,
    on_done: Callable[[], None] = lambda: None,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> Report:
    """Plays the trace once. Raises ValueError for what cannot be."""

    def ended(outcome: Outcome) -> None:
        on_outcome(outcome)
        on_done()

    wall_s, cpu_s = perf_counter(), process_time()
    hardware, load, sight = scenario.hardware, scenario.load, scenario.sight
    profiles, slowness = hardware.profiles(_block_tokens(trace)), hardware.slowness()
    requests, rng = prepare(trace, scenario), Random(seed)
    if load.poisson:
        requests = poisson(requests, rng)
    requests = jittered(requests, JITTER_S, rng)
    workloads = {request.workload for request in requests}
    slos = {name: scenario.slos.get(name, scenario.slo) for name in sorted(workloads)}
    options = Options(
        profile=profiles[0],
        slowness={instance_name(n): factor for n, factor in enumerate(slowness) if factor != 1},
        routers=sight.routers,
    )
    fleet = Fleet(
        profiles,
        [
            build_policy(policy, seed=rng.getrandbits(32), options=replace(options, router=router))
            for router in range(sight.routers)
        ],
        requests,
        ClosedLoop(requests, users=load.users) if load.closed else OpenLoop(requests),
        slowness=slowness,
        settings=Settings(
            poll_interval_s=sight.poll_interval_s,
            metrics_delay_s=sight.metrics_delay_s,
            changes=hardware.changes,
            tell_speed=sight.tell_speed,
            slos=slos,
            seed=rng.getrandbits(32),
        ),
        on_outcome=ended,
    )
    return report(
        fleet.run(),
        trace=trace.path.name,
        policy=policy,
        instances=hardware.instances,
        rate_scale=load.rate_scale,
        seed=seed,
        slos=slos,
        retries=fleet.retries,
        wall_s=perf_counter() - wall_s,
        cpu_s=process_time() - cpu_s,
    )


def _block_tokens(trace: Trace) -> int | None:
    """None: its prompts have nothing in common, so that the engine's own block size is as good."""
    return trace.block_tokens if any(request.blocks for request in trace.requests) else None
