"""What to start and stop next, so that the engines that run become those that are wanted.

Pure and level-triggered: it is asked again after every change. An edit that needs a restart goes
through the engines one at a time, and only while all others serve; an engine that serves nobody is
replaced at once. Nothing starts under a name whose process is still leaving.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from steelyard_operator.plan import EngineProcess


@dataclass(frozen=True, slots=True)
class Running:
    """One engine that runs, or is on its way in or out."""

    spec: EngineProcess
    ready: bool
    leaving: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """Names to stop and engines to start now."""

    start: tuple[EngineProcess, ...] = ()
    stop: tuple[str, ...] = ()


def steps(wanted: Mapping[str, EngineProcess], running: Collection[Running]) -> Steps:
    """The next steps; none when the two agree."""
    names = {engine.spec.name for engine in running}
    start = tuple(spec for name, spec in wanted.items() if name not in names)
    staying = [engine for engine in running if not engine.leaving]
    unwanted = [engine for engine in staying if engine.spec.name not in wanted]
    stale = [
        engine
        for engine in staying
        if engine.spec.name in wanted and engine.spec != wanted[engine.spec.name]
    ]
    idle = [engine for engine in stale if not engine.ready]
    kept = [engine for engine in running if engine.spec.name in wanted]
    whole = not start and all(engine.ready and not engine.leaving for engine in kept)
    stop = unwanted + (stale[:1] if whole else idle)
    return Steps(start, tuple(engine.spec.name for engine in stop))
