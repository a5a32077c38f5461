"""The engines of the study, each at a URL: real ones on a core each, or simulated ones.

The real one is what `make e2e-engine` installs. Its tiny model is widened by overrides, with random
weights made at the start, so that computing takes longer than everything around it. It decides on a
step when the last one has ended: deciding one step ahead is meant for devices that compute beside
the process, and on a CPU only holds back each token until the next step is over too.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import aiohttp

from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.process import Ground, running, until_ready
from steelyard_operator.local.port import free_port

HOST: Final = "127.0.0.1"
MODEL: Final = "fidelity"
"""The name that is served."""
SHAPE: Final = MappingProxyType(
    {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 4}
)
ENV: Final = MappingProxyType(
    {
        "VLLM_HOST_IP": HOST,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # or its worker leaves the core it was given
        "OMP_NUM_THREADS": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_SERVER_DEV_MODE": "1",  # opens /reset_prefix_cache
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
    }
)
FORGET: Final[Mapping[str, tuple[str, object]]] = MappingProxyType(
    {
        "VLLM": ("/reset_prefix_cache", None),
        "Simulator": ("/admin/config", {"reset_cache": True}),
    }
)
"""Where the cache of each kind is emptied, and what is to be said there."""
START_S: Final = 300.0
SIMULATED_START_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Engine:
    """`kind` as the router's configuration has it."""

    url: str
    kind: str


@dataclass(frozen=True, slots=True)
class Site:
    """Where the real engine is installed: build/engine."""

    folder: Path

    def check(self) -> None:
        """Raises FidelityError."""
        if not (self.vllm.is_file() and self.model.is_dir()):
            raise FidelityError(
                f"{self.folder} has no engine: run `make fidelity`, which installs one, or name "
                "another folder with --engine"
            )

    @property
    def vllm(self) -> Path:
        return self.folder / "venv" / "bin" / "vllm"

    @property
    def model(self) -> Path:
        return self.folder / "model"


@asynccontextmanager
async def real_engines(
    ground: Ground,
    site: Site,
    limits: Limits,
    cores: Sequence[int | None],
    *,
    arguments: Sequence[str] = (),
) -> AsyncIterator[list[Engine]]:
    """One on each of the cores, None being any, from when all serve until the block ends; told
    those arguments too. Raises FidelityError."""
    site.check()
    env = {**ENV, "VLLM_CACHE_ROOT": str((site.folder / "cache").absolute())}
    async with AsyncExitStack() as stack:
        found, starting = [], []
        for number, core in enumerate(cores):
            name, port = f"vllm-{number}", free_port(HOST)
            told = (*_arguments(site, limits, port), *arguments)
            command = [str(site.vllm.absolute()), "serve", *told]
            child = await stack.enter_async_context(
                running(ground, name, command, env=env, core=core)
            )
            found.append(Engine(f"http://{HOST}:{port}", "VLLM"))
            health = f"{found[-1].url}/health"
            starting.append(until_ready(ground, name, child, health, within_s=START_S))
        await asyncio.gather(*starting)
        yield found


@asynccontextmanager
async def simulated_engines(
    ground: Ground, profile: Path, *, speed: float, count: int
) -> AsyncIterator[list[Engine]]:
    """Of the profile in that file. Raises FidelityError."""
    async with AsyncExitStack() as stack:
        found = []
        for number in range(count):
            name, port = f"engine-{number}", free_port(HOST)
            command = [
                *(*ground.steelyard, "engine", "--port", str(port), "--model", MODEL),
                *("--profile", str(profile), "--speed", f"{speed:g}"),
            ]
            child = await stack.enter_async_context(running(ground, name, command))
            found.append(Engine(f"http://{HOST}:{port}", "Simulator"))
            health = f"{found[-1].url}/health"
            await until_ready(ground, name, child, health, within_s=SIMULATED_START_S)
        yield found


async def forget(http: aiohttp.ClientSession, engine: Engine) -> None:
    """Empties an engine's prefix cache; a real one must be idle. Raises FidelityError."""
    path, body = FORGET[engine.kind]
    async with http.post(f"{engine.url}{path}", json=body) as response:
        if response.status != 200:
            raise FidelityError(f"{engine.url} did not empty its cache: status {response.status}")


async def version(http: aiohttp.ClientSession, engine: Engine) -> str:
    async with http.get(f"{engine.url}/version") as response:
        told: Mapping[str, object] = await response.json()
        return str(told["version"])


def _arguments(site: Site, limits: Limits, port: int) -> list[str]:
    return [
        *(str(site.model.absolute()), "--served-model-name", MODEL),
        *("--host", HOST, "--port", str(port)),
        *("--load-format", "dummy", "--hf-overrides", json.dumps(dict(SHAPE))),
        *("--max-model-len", str(limits.model_tokens), "--max-num-seqs", str(limits.sequences)),
        *("--max-num-batched-tokens", str(limits.step_tokens)),
        *("--block-size", str(limits.block_tokens)),
        *("--num-gpu-blocks-override", str(limits.blocks)),
        *("--enforce-eager", "--distributed-executor-backend", "uni", "--no-async-scheduling"),
        "--enable-prompt-tokens-details",
    ]
