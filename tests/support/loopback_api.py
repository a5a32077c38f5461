"""What the stand-ins for an API server share: a port of their own on loopback, and a kubeconfig."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from aiohttp import web


class LoopbackApi(ABC):
    """Answers by `serve` and ends its watches by `hang_up`, which each stand-in has in its way."""

    def __init__(self) -> None:
        self.port = 0
        self._runner: web.AppRunner | None = None

    @abstractmethod
    async def serve(self, request: web.Request) -> web.StreamResponse: ...

    @abstractmethod
    def hang_up(self) -> None:
        """Ends every watch in the middle."""

    async def up(self) -> None:
        """On the port that it had before, if it was up before."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def down(self) -> None:
        self.hang_up()
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    def kubeconfig(self, folder: Path, user: dict[str, Any] | None = None) -> Path:
        """A file in `folder` that leads here."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
            "users": [{"name": "fake", "user": user or {}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(content))
        return path
