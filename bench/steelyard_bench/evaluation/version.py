"""Which code a run's figures come from: a hash over the modules that can change them.

Found by following imports from the policy and from the simulation, so that a change of one baseline
does not throw the runs of all others away. Packages' own `__init__` are not followed where a module
of theirs is named: registries import everything.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from steelyard_simulator.baselines import BASELINES
from steelyard_simulator.replay.registry import parse
from steelyard_simulator.replay.scheduled import STRATEGY_NAMES

SIMULATION: Final = "steelyard_simulator.replay.fleet"
ENGINE: Final = "steelyard_simulator.engine.engine"
SCENARIO: Final = "steelyard_simulator.replay.scenario"
"""Itself, without what it imports: the registry is among that."""
LOAD: Final = (
    "steelyard_simulator.load.schema",
    "steelyard_simulator.load.selection",
    "steelyard_simulator.replay.source",
)
OURS: Final = (
    "steelyard_simulator.replay.scheduled",
    "steelyard_router.scheduling.scheduler",
    "steelyard_router.scheduling.strategy",
)
PACKAGES: Final = ("steelyard_router.", "steelyard_simulator.")


def code_version(policy: str) -> str:
    """Of everything that a run with that policy executes."""
    return _version(parse(policy)[0])


@cache
def _version(bare: str) -> str:
    named = [kind.__module__ for kind in BASELINES if kind.name == bare]
    roots = OURS if bare in STRATEGY_NAMES else named
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    scenario = _file(SCENARIO)
    assert scenario is not None
    for path in sorted({*closure((SIMULATION, ENGINE, *LOAD, *roots)).values(), scenario}):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def closure(roots: tuple[str, ...]) -> Mapping[str, Path]:
    """Files by module: the roots, and what they import of ours, and so on."""
    found: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in found and (path := _file(module)) is not None:
            found[module] = path
            waiting += _imports(module, path)
    return found


@cache
def _file(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _imports(module: str, path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes(), module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGES):
            inner = [f"{node.module}.{name.name}" for name in node.names]
            modules = [name for name in inner if _file(name) is not None]
            yield from modules if len(modules) == len(inner) else [*modules, node.module]
