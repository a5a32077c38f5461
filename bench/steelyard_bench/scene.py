"""What the demo plays: its files, read and checked before anything is started."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard_operator.api import manifest
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.errors import ManifestError
from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.selection import Window, plan
from steelyard_simulator.load.trace import TraceRequest

SERVICE = "service.yaml"
POLICIES = ("policy-round-robin.yaml", "policy-multiplicative.yaml")
"""The cache-blind balancer first, ours last."""
TRACE = "mooncake_conversation_10min.jsonl.gz"


class DemoError(Exception):
    """The demo cannot be played; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One run of the comparison."""

    strategy: str
    policy: Path


@dataclass(frozen=True, slots=True)
class Scene:
    """`speed` is that of the engines, and the trace is played as much faster: times in `requests`
    are real seconds, and real seconds times `speed` are model time."""

    service: Path
    arms: tuple[Arm, ...]
    trace: Path
    model: str
    engines: int
    speed: float
    requests: tuple[TraceRequest, ...]
    block_tokens: int


def load_scene(examples: Path) -> Scene:
    """The demo of a folder like examples/demo. Raises DemoError."""
    service, trace = examples / SERVICE, examples / TRACE
    policies = [examples / name for name in POLICIES]
    if missing := [path.name for path in (service, trace, *policies) if not path.is_file()]:
        raise DemoError(
            f"{examples} lacks {', '.join(missing)}. Run the demo in a copy of the source tree, "
            "or name its folder examples/demo with --examples"
        )
    try:
        services = manifest.read([service]).services
        arms = [(manifest.read([path]).policies, path) for path in policies]
        loaded = read_trace(trace)
    except (ManifestError, LoadError) as exc:
        raise DemoError(str(exc)) from exc
    if len(services) != 1:
        raise DemoError(f"{service} must hold exactly one LLMService")
    spec = services[0].spec
    speed = engine_speed(spec.engine.args)
    return Scene(
        service=service,
        arms=tuple(Arm(_strategy(found, path), path) for found, path in arms),
        trace=trace,
        model=services[0].served_name,
        engines=1 if spec.replicas is None else spec.replicas,
        speed=speed,
        requests=plan(loaded, Window(), speed=speed).requests,
        block_tokens=loaded.block_tokens,
    )


def engine_speed(args: Sequence[str]) -> float:
    """The value of --speed among an engine's arguments; 1 without it. Raises DemoError."""
    for place, argument in enumerate(args):
        name, equals, value = argument.partition("=")
        if name == "--speed":
            text = value if equals else "".join(args[place + 1 : place + 2])
            with suppress(ValueError):
                if (speed := float(text)) > 0:
                    return speed
            raise DemoError(f"the engines' --speed must be a number above 0, not {text!r}")
    return 1.0


def _strategy(policies: Sequence[SLOPolicy], path: Path) -> str:
    """What a run is called by: the strategy of the policy's default workload."""
    if len(policies) != 1:
        raise DemoError(f"{path} must hold exactly one SLOPolicy")
    (workload,) = (workload for workload in policies[0].spec.workloads if workload.default)
    return workload.routing.strategy or "Auto"
