"""Other routers before the same engines, as their users start them, with the policy that they are
for.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from rig import web
from rig.child import child
from rig.engine import Engine
from rig.patience import until
from rig.stack import SERVICE
from steelyard_operator.local.port import free_port

HOST = "127.0.0.1"
START_S = 30.0


@asynccontextmanager
async def peers(
    programs: Path, engines: Sequence[Engine], folder: Path
) -> AsyncIterator[dict[str, str]]:
    """Their URLs by name, from when they serve until the block ends."""
    urls = [engine.url for engine in engines]
    async with AsyncExitStack() as running:

        def start(name: str, *arguments: str) -> str:
            port, metrics_port = free_port(HOST), free_port(HOST)
            command: list[str | Path] = [
                programs / name,
                *(*arguments, "--host", HOST, "--port", str(port), "--policy", "cache_aware"),
                *("--worker-startup-check-interval", "1", "--prometheus-host", HOST),
                *("--prometheus-port", str(metrics_port)),
            ]
            running.enter_context(child(command, folder / f"{name}.log"))
            return f"http://{HOST}:{port}"

        sglang = start("sglang-router", "launch")
        vllm = start("vllm-router", "--worker-urls", *urls)
        await until(partial(_answers, f"{vllm}/readiness"), within_s=START_S, what="vllm-router")
        await until(partial(_answers, f"{sglang}/health"), within_s=START_S, what="sglang-router")
        # By --worker-urls it would not learn what vLLM serves, and so not list it.
        for url in urls:
            web.call(f"{sglang}/workers", method="POST", body={"url": url, "model_id": SERVICE})
        await until(
            partial(_has_workers, sglang, len(urls)),
            within_s=START_S,
            what="sglang-router's workers",
        )
        yield {"sglang-router": sglang, "vllm-router": vllm}


def _answers(url: str) -> bool:
    return web.call(url) is not None


def _has_workers(url: str, count: int) -> bool:
    found = web.document(f"{url}/workers") or {"workers": []}
    return [worker["is_healthy"] for worker in found["workers"]] == [True] * count
