"""The router as a process of its own, for what only a process shows: signals and memory."""

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from steelyard_router.config import RouterConfig

ENTRY = "from steelyard.main import main; main()"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@dataclass
class RouterProcess:
    """A running `steelyard router`."""

    process: asyncio.subprocess.Process
    port: int
    admin_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rss_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def status(self) -> dict[str, object]:
        url = f"http://127.0.0.1:{self.admin_port}/status"
        async with aiohttp.ClientSession() as client, client.get(url) as response:
            found: dict[str, object] = await response.json()
            return found


@contextlib.asynccontextmanager
async def router_process(config: RouterConfig, folder: Path) -> AsyncIterator[RouterProcess]:
    """Starts the router on free ports and waits until it is ready; ends it by its pid."""
    port, admin_port = free_port(), free_port()
    settings = json.loads(config.model_dump_json(exclude_defaults=True))
    settings["listen"] = {"port": port, "admin_port": admin_port}
    path = folder / "router.json"
    path.write_text(json.dumps(settings))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ENTRY, "router", "--config", str(path), "--log-level", "warning"
    )
    try:
        await _ready(f"http://127.0.0.1:{admin_port}/readyz")
        yield RouterProcess(process, port, admin_port)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _ready(url: str) -> None:
    async with asyncio.timeout(30), aiohttp.ClientSession() as client:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with client.get(url) as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.05)
