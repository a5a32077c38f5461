"""Three real engines and the router before them, under `steelyard up`, as a user would run them."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rig import process, web
from rig.engine import Engine
from steelyard.up import STEELYARD

SERVICE = "tiny"
ENGINES = 3
BLOCK_TOKENS = 32
CACHE_TOKENS = 128 * BLOCK_TOKENS
MAX_MODEL_TOKENS = 2048
MAX_SEQUENCES = 8
GRACE_S = 30
"""What streams get to finish when the router is told to end."""

START_S = 300.0
STOP_S = 60.0
LIFETIME_S = 3600
"""Should the tests die without a word, `up` still ends, and everything with it."""
LOG_LINES = 25

ENGINE_ARGS = (
    *("--max-model-len", str(MAX_MODEL_TOKENS), "--max-num-seqs", str(MAX_SEQUENCES)),
    *("--block-size", str(BLOCK_TOKENS)),
    *("--num-gpu-blocks-override", str(CACHE_TOKENS // BLOCK_TOKENS)),
    *("--enforce-eager", "--distributed-executor-backend", "uni"),
    "--enable-prompt-tokens-details",
)  # fmt: skip
ENGINE_ENV = {
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_SERVER_DEV_MODE": "1",  # opens /reset_prefix_cache
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True)
class Site:
    """Where things are on this machine."""

    build: Path

    def is_installed(self) -> bool:
        return self.vllm.exists() and self.model.exists() and self.peers.exists()

    @property
    def vllm(self) -> Path:
        return self.build / "engine" / "venv" / "bin" / "vllm"

    @property
    def model(self) -> Path:
        return self.build / "engine" / "model"

    @property
    def run(self) -> Path:
        return self.build / "engine" / "run"

    @property
    def peers(self) -> Path:
        return self.build / "peers" / "bin"


class Stack:
    """`steelyard up` while it runs."""

    def __init__(self, up: subprocess.Popen[bytes], log: Path) -> None:
        self._up = up
        self._log = log
        self.url = ""
        """Of the router, without /v1."""
        self.admin_url = ""

    def said(self) -> str:
        """All that `up` has printed."""
        return self._log.read_text(encoding="utf-8")

    def status(self) -> dict[str, Any] | None:
        """The router's /status; None while it cannot be asked."""
        return web.document(f"{self.admin_url}/status") if self.admin_url else None

    def instance(self, name: str) -> dict[str, Any] | None:
        """What the router knows of one engine; None while it is not to get requests."""
        found = (self.status() or {}).get("instances", [])
        return next((item for item in found if item["id"] == name), None)

    def is_idle(self) -> bool:
        """No lease is held."""
        status = self.status()
        return status is not None and status["leases_held"] == 0

    def is_whole(self) -> bool:
        """Idle, with every engine alive and in full service."""
        status = self.status()
        if status is None or not status["ready"] or status["leases_held"]:
            return False
        fit = [
            item["breaker"] == "closed" and item["usable"] and self._pid_at(item["url"]) is not None
            for item in status["instances"]
        ]
        return len(fit) == ENGINES and all(fit)

    def engines(self) -> list[Engine]:
        """Those that the router knows, by name. An engine that was restarted has a new pid."""
        status = self.status()
        assert status is not None, "the router does not answer"
        found = [self._engine(item["id"], item["url"]) for item in status["instances"]]
        return sorted(found, key=lambda engine: engine.name)

    def engine(self, name: str) -> Engine:
        return next(engine for engine in self.engines() if engine.name == name)

    def router_pid(self) -> int:
        for pid in process.children(self._up.pid):
            if "router" in process.command(pid):
                return pid
        raise LookupError("no router runs")

    def await_ready(self) -> None:
        give_up_s = time.monotonic() + START_S
        while not self.is_whole():
            if self._up.poll() is not None or time.monotonic() > give_up_s:
                lines = self.said().splitlines()[-LOG_LINES:]
                raise AssertionError("\n".join(["`steelyard up` did not come up:", *lines]))
            time.sleep(0.2)
            self._learn_urls()

    def end(self) -> None:
        """In good order; `up` kills what is left when it is told a second time."""
        for patience_s in (STOP_S, STOP_S):
            self._up.send_signal(signal.SIGINT)
            try:
                self._up.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
            return
        self._up.kill()
        self._up.wait()

    def _learn_urls(self) -> None:
        told = re.search(r"is ready with .*: (\S+)/v1 \(status: (\S+)/status\)", self.said())
        if told is not None:
            self.url, self.admin_url = told.groups()

    def _engine(self, name: str, url: str) -> Engine:
        pid = self._pid_at(url)
        if pid is None:
            raise LookupError(f"no process of {name} listens at {url}")
        return Engine(name, url, pid)

    def _pid_at(self, url: str) -> int | None:
        """The engine process that was told to listen there; None when it is gone."""
        port = url.rsplit(":", 1)[1]
        for pid in process.children(self._up.pid):
            words = process.command(pid)
            if "serve" in words and "--port" in words and words[words.index("--port") + 1] == port:
                return pid
        return None


@contextmanager
def stack(site: Site) -> Iterator[Stack]:
    """The whole stack, from when every engine serves until the block ends."""
    site.run.mkdir(parents=True, exist_ok=True)
    manifest = site.run / "service.yaml"
    manifest.write_text(yaml.safe_dump(_service(site), sort_keys=False), encoding="utf-8")
    command = [
        *(*STEELYARD, "up", str(manifest), "--no-table", "--for", str(LIFETIME_S)),
        *("--port", "0", "--admin-port", "0", "--grace", str(GRACE_S)),
        *("--vllm-bin", str(site.vllm), "--run-dir", str(site.run)),
    ]
    log = site.run / "up.log"
    with log.open("wb") as output:
        up = subprocess.Popen(command, stdout=output, stderr=output, env=dict(os.environ))
    running = Stack(up, log)
    try:
        running.await_ready()
        yield running
    finally:
        running.end()


def _service(site: Site) -> dict[str, Any]:
    env = {**ENGINE_ENV, "VLLM_CACHE_ROOT": str(site.build / "engine" / "cache")}
    return {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": "LLMService",
        "metadata": {"name": SERVICE},
        "spec": {
            "model": {"uri": f"file://{site.model}", "name": SERVICE},
            "engine": {
                "type": "VLLM",
                "args": list(ENGINE_ARGS),
                "env": [{"name": name, "value": value} for name, value in env.items()],
            },
            "replicas": ENGINES,
        },
    }
