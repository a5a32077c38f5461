"""A router outside Kubernetes carries nothing of it."""

import asyncio
import sys
from pathlib import Path

import pytest
from support.routing import config_for, running
from support.scripted import engines

PROGRAM = """
import asyncio, random, sys
from pathlib import Path
from steelyard.router import command
from steelyard_router.app import Router
from steelyard_router.discovery.file import load_config

async def main():
    loop = asyncio.get_running_loop()
    router = Router(load_config(Path(sys.argv[1])), time=loop.time, rng=random.Random(1))
    async with router.serving(Path(sys.argv[1])):
        await asyncio.sleep(0.1)

asyncio.run(main())
print(sorted(m for m in sys.modules if m.split(".")[0] in ("kubernetes", "kopf")
             or m.startswith("steelyard_router.cluster")))
"""


async def ended(*arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 30)
    return process.returncode, out.decode(), err.decode()


async def test_it_serves_without_importing_anything_of_kubernetes(tmp_path: Path) -> None:
    path = tmp_path / "router.yaml"
    path.write_text("listen: {port: 0, admin_port: 0}\n")

    code, out, err = await ended("-c", PROGRAM, str(path))

    assert code == 0, err
    assert out.strip() == "[]"


async def test_a_configuration_for_a_cluster_says_what_is_missing_outside_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    (tmp_path / "router.yaml").write_text(
        "listen: {port: 0, admin_port: 0}\n"
        "kubernetes: {namespace: n, config_map: c, router_service: r, lease: l,"
        " service: {name: s, uid: u}}\n"
    )
    start = "import sys; from steelyard.main import main; main()"

    code, _, err = await ended("-c", start, "router", "--config", str(tmp_path / "router.yaml"))

    assert code == 1
    assert "the configuration has a section `kubernetes`" in err
    assert "run in a pod, or set KUBECONFIG" in err
    assert "Traceback" not in err


async def test_it_is_the_whole_service() -> None:
    slo = {"e2e_ms": 600_000, "attainment_percent": 95}
    policy = {"workloads": [{"name": "chat", "default": True, "slo": slo}]}
    async with engines(1) as (engine,), running(config_for([engine], policy=policy)) as proxy:
        assert (await proxy.chat())[0] == 200
        status = await proxy.status()

    (own,) = status["workloads"]
    assert status["service"]["replicas"] == 1
    assert status["service"]["workloads"] == [
        {
            "name": "chat",
            "attainment_percent": 100.0,
            "attainment_target_percent": 95,
            "score": own["score"],
        }
    ]
    assert own["score"]["count"] == 1
