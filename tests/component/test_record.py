"""A router's traffic recorded over HTTP, and played again in virtual time."""

import asyncio
import gc
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner, Result
from support.patience import until
from support.routing import Running, config_for, running
from support.scripted import Received, ScriptedEngine, answer_ok, engines
from support.wire import dial

from steelyard import router
from steelyard.main import main
from steelyard_router.config import Debug, RouterConfig
from steelyard_router.errors import ConfigError
from steelyard_router.observability import recorder_view
from steelyard_router.observability.outcome import Asked, Outcome
from steelyard_router.observability.recorder import Bounds
from steelyard_router.scheduling.request import RequestView
from steelyard_simulator.engine.profile import profile
from steelyard_simulator.load.client import Target
from steelyard_simulator.load.job import Job
from steelyard_simulator.load.job import run as play
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.schema import read_trace
from steelyard_simulator.load.selection import Window, plan
from steelyard_simulator.recording.reader import RecordingError, Summary, record
from steelyard_simulator.recording.trace_file import TraceFile
from steelyard_simulator.replay.scenario import Hardware, Load, Scenario
from steelyard_simulator.replay.scenario import run as simulate
from steelyard_simulator.server.app import serve
from steelyard_simulator.server.settings import Settings

TRACE = Path(__file__).parents[2] / "examples/demo/mooncake_conversation_10min.jsonl.gz"
ON = {"record": True}
SECRET = "the launch code is 0000, tell nobody. " * 30
LARGE = 10_000_000


def begun(proxy: Running) -> bool:
    return bool(proxy.router.observer.recorder.readings)


def time_is_up(*proxies: Running) -> None:
    """What has come by now was in time, on however slow a machine."""
    for proxy in proxies:
        for reading in proxy.router.observer.recorder.readings:
            reading.until_s = asyncio.get_running_loop().time()


async def told(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    """Everything until the recording ends."""
    text = await response.text()
    return [json.loads(line) for line in text.splitlines()]


async def test_it_is_off_and_the_answer_tells_how_to_switch_it_on() -> None:
    async with engines(1) as fleet, running(config_for(fleet)) as proxy:
        async with proxy.client.get(f"{proxy.admin}/debug/record") as response:
            body = await response.json()

    assert (response.status, body["error"]["code"]) == (404, "record_off")
    assert "debug: {record: true}" in body["error"]["message"]


async def test_every_request_is_a_line_without_its_text() -> None:
    async with engines(2) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        async with proxy.client.get(f"{proxy.admin}/debug/record?seconds=600") as response:
            for _ in range(3):
                assert (await proxy.chat(SECRET, stream=True))[0] == 200
            async with proxy.client.get(f"{proxy.url}/v1/models"):
                pass
            await proxy.chat("not what it seems", model=5)
            time_is_up(proxy)
            head, *rows, end = await told(response)
        async with proxy.client.get(f"{proxy.admin}/metrics") as response:
            metrics = await response.text()

    assert head["steelyard_record"] == 1
    assert [row["result"] for row in rows] == ["ok"] * 3
    assert [row["output_length"] for row in rows] == [4] * 3
    assert len({tuple(row["hash_ids"]) for row in rows}) == 1
    assert "launch" not in json.dumps(rows)
    assert end["steelyard_end"] == {
        "reason": "time", "requests": 3, "dropped": 0, "unfinished": 0,
    }  # fmt: skip
    assert 'steelyard_record_requests_total{outcome="recorded"} 3.0' in metrics


async def test_a_request_that_still_runs_at_the_end_is_waited_for() -> None:
    released = asyncio.Event()

    async def hold(engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter) -> None:
        await released.wait()
        await answer_ok(engine, request, writer)

    async with engines(1) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        fleet[0].behave = hold
        async with proxy.client.get(f"{proxy.admin}/debug/record?seconds=600") as response:
            asking = asyncio.create_task(proxy.chat())
            (reading,) = proxy.router.observer.recorder.readings
            await until(lambda: reading.open == 1)
            time_is_up(proxy)
            await until(lambda: asyncio.get_running_loop().time() > reading.until_s + 1)
            assert begun(proxy)
            released.set()
            await asking
            *_, row, end = await told(response)

    assert row["result"] == "ok"
    assert row["e2e_ms"] > 1000
    assert end["steelyard_end"]["unfinished"] == 0


async def test_what_a_slow_reader_misses_is_counted_where_it_looks_and_in_the_metrics() -> None:
    async with engines(2) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        recorder = proxy.router.observer.recorder
        recorder._bounds = Bounds(requests=0)
        async with proxy.client.get(f"{proxy.admin}/debug/record?seconds=600") as response:
            for _ in range(4):
                assert (await proxy.chat())[0] == 200
            time_is_up(proxy)
            head, end = await told(response)
        async with proxy.client.get(f"{proxy.admin}/metrics") as response:
            metrics = await response.text()

    assert head["steelyard_record"] == 1
    assert (end["steelyard_end"]["requests"], end["steelyard_end"]["dropped"]) == (0, 4)
    assert 'steelyard_record_requests_total{outcome="dropped"} 4.0' in metrics


async def test_a_reader_that_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_view, "WRITE_S", 0.3)
    long = Asked(0.0, RequestView(blocks=bytes(8 * 50_000)))
    async with engines(1) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        async with dial(int(proxy.admin.rpartition(":")[2]), limit=1024) as (_, writer):
            writer.write(b"GET /debug/record?seconds=600 HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: begun(proxy))
            (reading,) = proxy.router.observer.recorder.readings
            offered = 0
            while begun(proxy):
                offered += reading.offer(Outcome(), long)
                await asyncio.sleep(0.005)
        assert (await proxy.chat())[0] == 200

    assert reading.dropped > 0
    assert reading.waiting + reading.written == offered


async def test_a_reload_ends_it_and_a_reader_that_goes_leaves_nothing() -> None:
    async with engines(1) as fleet, running(config_for(fleet)) as proxy:
        proxy.router.reload(config_for(fleet, debug=ON))
        gone = await proxy.client.get(f"{proxy.admin}/debug/record")
        assert begun(proxy)
        gone.close()
        await until(lambda: not begun(proxy))
        async with proxy.client.get(f"{proxy.admin}/debug/record") as response:
            proxy.router.reload(config_for(fleet))
            _, end = await told(response)

    assert end["steelyard_end"]["reason"] == "switched off"


async def test_a_router_that_stops_waits_for_no_recording() -> None:
    async with engines(1) as fleet, aiohttp.ClientSession() as client:
        async with running(config_for(fleet, debug=ON)) as proxy:
            response = await client.get(f"{proxy.admin}/debug/record?seconds=86400")
            await proxy.chat()
            stopped_s = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - stopped_s < 3
        _, row, end = await told(response)

    assert row["result"] == "ok"
    assert end["steelyard_end"]["reason"] == "the router stops"


async def test_there_are_only_so_many_readers_at_once() -> None:
    async with engines(1) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        url = f"{proxy.admin}/debug/record?seconds=60"
        responses = [await proxy.client.get(url) for _ in range(5)]
        for response in responses:
            response.close()

    assert [response.status for response in responses] == [200] * 4 + [429]


@pytest.mark.parametrize("seconds", ["0", "-1", "86401", "soon", "1.5"])
async def test_a_wrong_time_is_refused(seconds: str) -> None:
    async with engines(1) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        url = f"{proxy.admin}/debug/record?seconds={seconds}"
        async with proxy.client.get(url) as response:
            body = await response.json()

    assert (response.status, body["error"]["param"]) == (400, "seconds")


def test_the_environment_allows_it_and_a_salt_must_be_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not router._recorder().allowed
    monkeypatch.setenv("STEELYARD_RECORD", "1")
    assert router._recorder().allowed
    monkeypatch.setenv("STEELYARD_RECORD_SALT", "short")
    with pytest.raises(ConfigError, match="at least 16 characters"):
        router._recorder()


# -- the command ----------------------------------------------------------------------------------


async def steelyard(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


async def test_the_command_writes_a_trace_that_simulate_plays(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl.gz"
    async with engines(2) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        recording = asyncio.create_task(
            steelyard("record", "--url", proxy.admin, "--for", "600", "--out", str(out))
        )
        await until(lambda: begun(proxy))
        for number in range(5):
            await proxy.chat(SECRET + str(number))
        time_is_up(proxy)
        done = await recording

    assert done.exit_code == 0, done.output
    assert "5 requests" in done.output
    played = await steelyard("simulate", "--trace", str(out), "--instances", "2", "--jobs", "1")
    assert played.exit_code == 0, played.output
    assert "5 requests, 2 instances" in played.output


async def test_the_command_stops_at_its_size(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    async with engines(1) as fleet, running(config_for(fleet, debug=ON)) as proxy:
        recording = asyncio.create_task(
            steelyard(
                *("record", "--url", proxy.admin, "--for", "60"),
                *("--out", str(out), "--max-mb", "0.01"),
            )
        )
        await until(lambda: begun(proxy))
        while not recording.done():
            await proxy.chat(SECRET * 10)
        done = await recording

    assert "as large as --max-mb allows" in done.output
    assert out.stat().st_size <= 10_000
    assert json.loads(out.read_bytes().splitlines()[-1])["steelyard_end"]["reason"] == "bytes"


async def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    async with engines(1) as fleet, running(config_for(fleet)) as proxy:
        off = await steelyard("record", "--url", proxy.admin, "--out", str(out))
        wrong = await steelyard("record", "--url", proxy.url, "--out", str(out))
    nobody = await steelyard("record", "--url", proxy.admin, "--out", str(out))

    assert "debug: {record: true}" in off.output
    assert "is it the admin address of a router?" in wrong.output
    assert "no router answers at" in nobody.output
    assert {off.exit_code, wrong.exit_code, nobody.exit_code} == {1}
    assert not out.exists()


async def test_two_replicas_make_one_trace(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    async with (
        engines(1) as fleet,
        running(config_for(fleet, debug=ON)) as one,
        running(config_for(fleet, debug=ON)) as two,
    ):
        two.router.observer.recorder._salt = one.router.observer.recorder._salt
        recording = asyncio.create_task(
            record([one.admin, two.admin], TraceFile(out, max_bytes=LARGE), seconds=600)
        )
        await until(lambda: begun(one) and begun(two))
        await one.chat(SECRET)
        await two.chat(SECRET)
        time_is_up(one, two)
        summary = await recording

    first, second = read_trace(out).requests
    assert (summary.requests, summary.reason) == (2, "time")
    assert first.blocks == second.blocks != ()


async def test_a_router_that_is_not_there_spoils_no_file_and_ends_the_others_recordings(
    tmp_path: Path,
) -> None:
    out = tmp_path / "t.jsonl"
    async with (
        engines(1) as fleet,
        running(config_for(fleet, debug=ON)) as proxy,
        running(config_for(fleet)) as off,
    ):
        for other, why in (("http://127.0.0.1:9", "no router answers"), (off.admin, "debug:")):
            with pytest.raises(RecordingError, match=why):
                file = TraceFile(out, max_bytes=LARGE)
                await record([proxy.admin, other], file, seconds=60)
            gc.collect()  # what was left open warns here, which fails this test
            await until(lambda: not begun(proxy))

    assert not out.exists()


# -- what it is for -------------------------------------------------------------------------------

SPEED = 40.0
INSTANCES = 3
SLICE = 220


@pytest.mark.parametrize("strategy", ["Multiplicative", "RoundRobin"])
async def test_a_recording_shows_the_hit_ratio_that_the_router_had(
    tmp_path: Path, strategy: str
) -> None:
    out = tmp_path / "t.jsonl"
    async with AsyncExitStack() as stack:
        settings = Settings(model="m", profile=profile("reference"), speed=SPEED)
        servers = [await stack.enter_async_context(serve(settings)) for _ in range(INSTANCES)]
        proxy = await stack.enter_async_context(
            running(_fleet([server.url for server in servers], strategy))
        )
        await until(lambda: all(m.polled and m.healthy for m in proxy.router.runtime.roster))
        summary = await _record_slice(proxy, out)
        live = (await proxy.status())["totals"]

    report = simulate(
        read_trace(out),
        Scenario(Hardware(INSTANCES), Load(rate_scale=1 / SPEED)),
        {"Multiplicative": "multiplicative", "RoundRobin": "round-robin"}[strategy],
        seed=1,
    )
    assert summary.dropped == summary.unfinished == 0
    assert report.requests == summary.requests == SLICE
    assert live["hit_ratio"] > 0.02
    assert report.hit_ratio == pytest.approx(live["hit_ratio"], abs=0.02)


def _fleet(urls: Sequence[str], strategy: str) -> RouterConfig:
    routing = {"routing": {"strategy": strategy}}
    return RouterConfig.model_validate(
        {
            "service": {
                "endpoints": [
                    {"id": f"e{number}", "url": url, "engine": "Simulator", "models": ["m"]}
                    for number, url in enumerate(urls)
                ]
            },
            "policy": {"workloads": [{"name": "chat", "default": True, **routing}]},
            "listen": {"port": 0, "admin_port": 0},
            "debug": ON,
        }
    )


async def _record_slice(proxy: Running, out: Path) -> Summary:
    """Plays the begin of a real trace through the router while it is recorded."""
    trace = read_trace(TRACE)
    chosen = plan(trace, Window(limit=SLICE, max_input=30_000, output_cap=100), speed=SPEED)
    measured: list[Measurement] = []
    job = Job(
        target=Target(proxy.url, "m"), requests=chosen.requests, block_tokens=trace.block_tokens
    )
    file = TraceFile(out, max_bytes=LARGE)
    recording = asyncio.create_task(record([proxy.admin], file, seconds=100))
    await until(lambda: begun(proxy))
    await play(job, measured.append)
    config = proxy.router.config
    proxy.router.reload(config.model_copy(update={"debug": Debug()}))  # ends it
    summary = await recording
    assert not [one.error for one in measured if one.error]
    return summary
