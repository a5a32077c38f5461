"""What the figures were measured on and with: they mean nothing without it."""

import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from sysconfig import get_config_var

from steelyard_bench.wire import wrk
from steelyard_bench.wire.target import PEERS


def machine() -> dict[str, object]:
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        # a build without it runs the router's code about a sixth slower
        "python_optimised": "--enable-optimizations" in str(get_config_var("CONFIG_ARGS")),
    }


async def versions(peers: Path | None, targets: Sequence[str], wrk_program: str) -> dict[str, str]:
    found = {name: metadata.version(name) for name in ("steelyard", "httptools", "uvloop")}
    found["wrk"] = await wrk.version(wrk_program)
    for name in ("sglang-router", "vllm-router"):
        if peers is not None and any(label in PEERS and name in label for label in targets):
            found[name] = _installed(peers, name)
    return found


def _installed(venv: Path, name: str) -> str:
    """By the name of the distribution's metadata folder: nothing of that environment is run."""
    stem = name.replace("-", "_")
    for folder in venv.glob(f"lib/python*/site-packages/{stem}-*.dist-info"):
        return folder.name.removesuffix(".dist-info").rpartition("-")[2]
    return "unknown"


def _cpu_model() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()
