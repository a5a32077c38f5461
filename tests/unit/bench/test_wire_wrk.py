"""Load by wrk, where it is installed."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from steelyard_bench.wire import wrk
from steelyard_bench.wire.cell import CELLS, Cell
from steelyard_bench.wire.check import check
from steelyard_bench.wire.dummy import serving
from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.meter import Meter
from steelyard_bench.wire.target import CHAT, Target

HOST = "127.0.0.1"
needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving(HOST, 0) as port:
        yield f"http://{HOST}:{port}"


def test_without_wrk_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(WireError, match="apt-get install wrk"):
        wrk.find()


@needs_wrk
async def test_it_counts_requests_and_chunks(url: str, tmp_path: Path) -> None:
    stream = replace(CELLS[2], connections=4)
    load = await wrk.Wrk(wrk.find(), tmp_path).drive(stream, url + CHAT, 1, Meter(None))

    assert load.errors == 0
    assert 0.9 < load.seconds < 2
    assert load.requests > 100
    assert load.chunks == 16 * load.requests
    assert 0 < load.p50_ms <= load.p99_ms < 1000


@needs_wrk
async def test_every_other_status_is_an_error(tmp_path: Path) -> None:
    async with serving(HOST, 0) as port:
        client = wrk.Wrk(wrk.find(), tmp_path)
        (tmp_path / "plain-c1.jsonl").write_bytes(b"no json\n")
        load = await client.drive(CELLS[0], f"http://{HOST}:{port}{CHAT}", 1, Meter(None))

    assert load.errors == load.requests > 0


@needs_wrk
async def test_a_port_that_nobody_listens_on_is_said(tmp_path: Path) -> None:
    client = wrk.Wrk(wrk.find(), tmp_path)

    with pytest.raises(WireError, match="unable to connect"):
        await client.drive(CELLS[0], f"http://{HOST}:1{CHAT}", 1, Meter(None))


@needs_wrk
async def test_its_version_is_known() -> None:
    assert await wrk.version(wrk.find()) != "unknown"


@pytest.mark.parametrize("cell", [CELLS[0], CELLS[2]], ids=lambda cell: cell.name)
async def test_right_answers_pass_the_check(url: str, cell: Cell) -> None:
    async with aiohttp.ClientSession() as http:
        await check(http, Target("direct", (), url + CHAT, ""), cell)


@pytest.mark.parametrize("path", ["/v1/chat/completions/render", "/v1/models"])
async def test_wrong_answers_do_not(url: str, path: str) -> None:
    target = Target("some-router", (), url + path, "")
    async with aiohttp.ClientSession() as http:
        for cell in (CELLS[0], CELLS[2]):
            if path == "/v1/models":
                target = replace(target, url="http://127.0.0.1:1/")
            with pytest.raises(WireError, match=f"some-router, cell {cell.name}"):
                await check(http, target, cell)
