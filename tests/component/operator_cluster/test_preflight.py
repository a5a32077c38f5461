"""What the operator says when it cannot work in a cluster."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.kopf_server import TOKEN, KopfServer, kopf_server
from support.process import ENTRY

from steelyard_operator.cluster.preflight import preflight
from steelyard_operator.errors import ClusterError
from steelyard_router.kube.client import Kube


@pytest.fixture
async def server() -> AsyncIterator[KopfServer]:
    async with kopf_server() as found:
        yield found


async def checked(server: KopfServer, folder: Path, *namespaces: str) -> None:
    kubeconfig = str(server.kubeconfig(folder, TOKEN))
    async with await Kube.connect(user_agent="a-test", kubeconfig=kubeconfig) as kube:
        checking = asyncio.create_task(preflight(kube, namespaces))
        while not checking.done():
            await asyncio.sleep(0.05)
            server.hang_up()  # its watches are over at once
        checking.result()


async def test_all_is_well_where_nothing_is_missing(server: KopfServer, tmp_path: Path) -> None:
    await checked(server, tmp_path)
    await checked(server, tmp_path, "one", "two")


async def test_missing_crds_are_named_with_the_command_that_brings_them(
    server: KopfServer, tmp_path: Path
) -> None:
    server.missing.add("slopolicies")
    with pytest.raises(ClusterError, match=r"SLOPolicy .*`kubectl apply --server-side -f crds/`"):
        await checked(server, tmp_path)


@pytest.mark.parametrize("plural", ["llmservices", "rolebindings", "pods"])
async def test_a_missing_right_is_named(server: KopfServer, tmp_path: Path, plural: str) -> None:
    server.refused.add(plural)
    with pytest.raises(ClusterError, match=f"list {plural} in namespace one") as caught:
        await checked(server, tmp_path, "one")

    assert f'User "x" cannot list resource "{plural}"' in str(caught.value)


async def test_the_command_says_so_and_fails(server: KopfServer, tmp_path: Path) -> None:
    server.missing.update({"llmservices", "slopolicies"})
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-c",
            ENTRY,
            "operator",
            "--kubeconfig",
            str(server.kubeconfig(tmp_path, TOKEN)),
        ),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(process.communicate(), 60)

    assert process.returncode == 1
    assert b"LLMService and SLOPolicy" in said
    assert b"Traceback" not in said
