"""The demo against a stand-in for `steelyard up`: processes, alerts and replays, but no engines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import aiohttp
import pytest

from steelyard_bench.demo import play
from steelyard_bench.scene import Arm, DemoError, Scene
from steelyard_bench.stack import up
from steelyard_bench.watch import AlertChange
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

FAKE_UP = '''
"""Serves the model "m"; its alert fires soon after the first request, for a second."""

import json
import sys
import time

from aiohttp import web

begun = []
ports = {name: sys.argv[sys.argv.index(name) + 1] for name in ("--port", "--admin-port")}


async def models(request):
    return web.json_response({"data": [{"id": "m"}]})


async def chat(request):
    begun.append(time.monotonic())
    details = {"cached_tokens": 5}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": details}
    events = "{}", json.dumps({"usage": usage}), "[DONE]"
    text = "".join(f"data: {event}\\n\\n" for event in events)
    return web.Response(text=text, content_type="text/event-stream")


async def status(request):
    firing = bool(begun) and 0.1 < time.monotonic() - begun[0] < 1.3
    alert = {"alert": "a", "workload": "w", "state": "Firing" if firing else "OK", "value": 3.0}
    instances = [{"id": str(n), "healthy": True, "models": ["m"]} for n in range(2)]
    return web.json_response({"ready": True, "instances": instances, "alerts": [alert]})


async def start(app):
    admin = web.Application()
    admin.router.add_get("/status", status)
    runner = web.AppRunner(admin)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(ports["--admin-port"])).start()


app = web.Application()
app.on_startup.append(start)
app.router.add_get("/v1/models", models)
app.router.add_post("/v1/chat/completions", chat)
web.run_app(app, host="127.0.0.1", port=int(ports["--port"]), print=None)
'''


class Notes:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def starting(self, arm: Arm) -> None:
        self.lines.append(f"start {arm.strategy}")

    def replaying(
        self, arm: Arm, total: int
    ) -> AbstractContextManager[Callable[[Measurement], None]]:
        return self._count(total)

    @contextmanager
    def _count(self, total: int) -> Iterator[Callable[[Measurement], None]]:
        done: list[Measurement] = []
        yield done.append
        self.lines.append(f"{len(done)} of {total}")

    def alert(self, change: AlertChange) -> None:
        self.lines.append("firing" if change.firing else "cleared")

    def settling(self, seconds: float) -> None:
        self.lines.append("settling")


def scene(tmp_path: Path, *strategies: str, engines: int = 2) -> Scene:
    requests = (0.0, 0.9)
    return Scene(
        service=tmp_path / "service.yaml",
        arms=tuple(Arm(name, tmp_path / f"{name}.yaml") for name in strategies),
        trace=tmp_path / "trace.jsonl",
        model="m",
        engines=engines,
        speed=10.0,
        requests=tuple(TraceRequest(at_s=t, input_tokens=10, output_tokens=2) for t in requests),
        block_tokens=512,
    )


def fake_up(tmp_path: Path, text: str = FAKE_UP) -> list[str]:
    script = tmp_path / "fake_up.py"
    script.write_text(text)
    return [sys.executable, str(script)]


async def test_every_arm_is_played_and_the_last_waits_for_its_alert_to_clear(
    tmp_path: Path,
) -> None:
    notes = Notes()

    results = await play(scene(tmp_path, "A", "B"), fake_up(tmp_path), tmp_path, notes)

    assert [result.strategy for result in results] == ["A", "B"]
    assert notes.lines == [
        *("start A", "firing", "2 of 2"),
        *("start B", "firing", "2 of 2", "settling", "cleared"),
    ]
    assert [result.alerts.firing for result in results] == [True, False]
    for result in results:
        assert result.summary.hit_ratio == 0.5
        assert result.to_dict(10.0)["errors"] == 0


async def test_a_service_that_dies_at_once_is_reported_with_its_last_words(tmp_path: Path) -> None:
    command = fake_up(tmp_path, "raise SystemExit('no such profile')")

    with pytest.raises(DemoError, match=r"ended by itself(.|\n)*no such profile"):
        await play(scene(tmp_path, "A"), command, tmp_path, Notes())


async def test_what_was_started_is_ended_when_the_block_fails(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as http:
        with pytest.raises(RuntimeError):
            async with up(
                fake_up(tmp_path), [], model="m", engines=2, folder=tmp_path, http=http
            ) as stack:
                raise RuntimeError
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.get(f"{stack.admin_url}/status")
