"""A router of its own before engines that run already, where a test needs other settings than
`steelyard up` gives.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rig import web
from rig.child import child
from rig.engine import Engine
from rig.patience import until
from steelyard.up import STEELYARD
from steelyard_operator.local.port import free_port

HOST = "127.0.0.1"
START_S = 30.0


@dataclass(frozen=True)
class Router:
    """Where it listens."""

    url: str
    admin_url: str

    def is_ready(self) -> bool:
        return web.call(f"{self.admin_url}/readyz") is not None

    def status(self) -> dict[str, Any]:
        found = web.document(f"{self.admin_url}/status")
        assert found is not None, "the router does not answer"
        return found


@asynccontextmanager
async def router(
    engines: Sequence[Engine], folder: Path, **sections: Mapping[str, Any]
) -> AsyncIterator[Router]:
    """`sections` as in the router's configuration file."""
    port, admin_port = free_port(HOST), free_port(HOST)
    started = Router(f"http://{HOST}:{port}", f"http://{HOST}:{admin_port}")
    endpoints = [{"id": engine.name, "url": engine.url, "engine": "VLLM"} for engine in engines]
    config = {
        "service": {"endpoints": endpoints},
        "listen": {"host": HOST, "port": port, "admin_port": admin_port},
        **sections,
    }
    file = folder / "router.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    with child([*STEELYARD, "router", "--config", str(file)], folder / "router.log"):
        await until(started.is_ready, within_s=START_S, what="the router is ready")
        yield started
