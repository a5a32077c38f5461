"""The study of fidelity, as far as it goes without a real engine: probes, replays, the command."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner, Result
from support.engine_server import engine, until_idle
from support.fidelity_case import SMALL, document, policies, request

from steelyard.main import main
from steelyard.up import STEELYARD
from steelyard_bench.fidelity.engine import MODEL, forget, simulated_engines
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.live import replay, router
from steelyard_bench.fidelity.placed import pairs, summary
from steelyard_bench.fidelity.priority import put_ahead
from steelyard_bench.fidelity.probe import TOKENS, Prober, template_tokens
from steelyard_bench.fidelity.process import Ground, running, until_ready
from steelyard_bench.fidelity.slice import longer
from steelyard_simulator.server.settings import Settings

SPEED = 4.0


@asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Ground]:
    async with aiohttp.ClientSession() as http:
        yield Ground(STEELYARD, folder, http)


def prober(http: aiohttp.ClientSession, url: str) -> Prober:
    return Prober(http, url, "tiny", block_tokens=64, seed=1)


async def test_a_probe_asks_for_what_it_says() -> None:
    settings = Settings(model="tiny", profile=SMALL, speed=50.0)
    async with engine(settings) as (server, _), aiohttp.ClientSession() as http:
        asks = prober(http, str(server.url))

        lone = await asks.ask(100, TOKENS)
        other = await asks.ask(100, TOKENS)
        reused = await asks.reused(640, 30)

    template = template_tokens(100, lone)
    assert lone.ending.output_tokens == TOKENS
    assert 1 <= lone.tokens <= TOKENS
    assert lone.sent_s < lone.first_s <= lone.end_s
    assert other.ending.cached_tokens == 0
    assert (reused.ending.prompt_tokens, reused.ending.cached_tokens) == (670 + template, 640)


async def test_a_crowd_is_there_for_as_long_as_it_is_needed() -> None:
    settings = Settings(model="tiny", profile=SMALL, speed=20.0)
    async with engine(settings) as (server, _), aiohttp.ClientSession() as http:
        asks = prober(http, str(server.url))

        async with asks.crowd(5, 128) as others:
            beside = server.engine.running
            await asks.ask(32, TOKENS)

        assert beside == 5
        assert all(one.first_s > 0 for one in others)
        await until_idle(server)


async def test_an_engine_that_refuses_is_said_so() -> None:
    async with engine(Settings(model="tiny")) as (server, _), aiohttp.ClientSession() as http:
        asks = Prober(http, str(server.url), "huge", block_tokens=64, seed=1)

        with pytest.raises(FidelityError, match="answers 404"):
            await asks.ask(10, 1)


async def test_a_replay_before_simulated_engines_hits_as_the_model_of_the_engine_does(
    tmp_path: Path,
) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(SMALL.to_json())
    # turns of six conversations, far enough apart for the last one's prompt to be computed
    requests = [
        request(
            2.0 * turn + 0.05 * number,
            range(100 * number, 100 * number + 3 + turn),
            200 + 64 * turn,
        )
        for turn in range(3)
        for number in range(6)
    ]
    async with (
        ground(tmp_path) as on,
        simulated_engines(on, profile, speed=SPEED, count=2) as engines,
    ):
        for each in engines:
            await forget(on.http, each)
        async with router(on, engines, "multiplicative") as to:
            asks = Prober(on.http, to.url, MODEL, block_tokens=64, seed=9)
            template = template_tokens(32, await asks.ask(32, 1))
            found = await replay(to, requests, block_tokens=64, speed=SPEED)

    assert {one.instance for one in found} == {"engine-0", "engine-1"}
    placed = summary(pairs(longer(requests, template), found, SMALL, overhead_s=0.0, speed=SPEED))
    assert placed["same_cached"] == 1.0
    assert sum(one.cached_tokens or 0 for one in found) >= 12 * 192


async def test_what_does_not_come_up_is_shown_with_its_log(tmp_path: Path) -> None:
    async with ground(tmp_path) as on, running(on, "thing", ["sh", "-c", "echo why; exit 3"]) as it:
        with pytest.raises(FidelityError, match=r"thing ended by itself; .*\nwhy"):
            await until_ready(on, "thing", it, "http://127.0.0.1:9/", within_s=20)


async def test_a_process_is_held_to_its_core_and_put_ahead(tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    async with ground(tmp_path) as on, running(on, "thing", ["sleep", "60"], core=core) as it:
        put_ahead(it.pid, nice=7)  # anybody may stand back; nobody but root may go ahead

        assert os.sched_getaffinity(it.pid) == {core}
        assert os.getpriority(os.PRIO_PROCESS, it.pid) == 7
    assert os.sched_getaffinity(0) == before


def bench(folder: Path, *arguments: str) -> Result:
    paths = ("--json", str(folder / "f.json"), "--docs", str(folder), "--engine", str(folder))
    return CliRunner().invoke(main, ["bench", "fidelity", *paths, *arguments])


def test_the_page_is_written_from_the_json(tmp_path: Path) -> None:
    real = policies((300, 250, 200), (300, 250, 150))
    (tmp_path / "f.json").write_text(json.dumps(document(real)))

    done = bench(tmp_path, "--no-run")

    assert done.exit_code == 0, done.output
    assert "NOT MET  real engines: TTFT mean within 20 %: at worst multiplicative -25.0 %" in (
        done.output
    )
    assert "| **not met** |" in (tmp_path / "fidelity.md").read_text()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "f.json").write_text('{"format": 0}')

    assert "f.json cannot be read" in bench(tmp_path, "--no-run").output
    assert "no study of this version" in bench(tmp_path / "old", "--no-run").output
    no_engine = bench(tmp_path, "--run-dir", str(tmp_path / "run"))
    assert no_engine.exit_code == 1
    assert "has no engine: run `make fidelity`" in no_engine.output


def test_a_measured_profile_is_taken_by_the_commands(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text("{}")

    refused = CliRunner().invoke(main, ["engine", "--profile", str(file)])

    assert refused.exit_code == 2
    assert "mine.json is no profile" in refused.output
