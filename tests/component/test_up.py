"""Manifests as local processes: real processes, fakes in place of engines and routers."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import aiohttp
import pytest
from support.patience import until
from support.proc_stat import alive

from steelyard.up import STEELYARD
from steelyard_operator.errors import LocalError, ManifestError
from steelyard_operator.local import admin, process
from steelyard_operator.local.process import Child
from steelyard_operator.local.session import Session
from steelyard_operator.local.settings import Settings
from steelyard_operator.local.view import ServiceView
from steelyard_operator.local.watch import edits, signature

FAKE = Path(__file__).parents[1] / "support" / "fake_steelyard.py"
PATIENCE_S = 20.0

SERVICE = """
apiVersion: steelyard.io/v1alpha1
kind: LLMService
metadata: {{name: {name}}}
spec:
  engine: {{type: Simulator, args: [{args}]}}
  replicas: {replicas}
"""
POLICY = """
apiVersion: steelyard.io/v1alpha1
kind: SLOPolicy
metadata: {{name: fast}}
spec:
  targetRefs: [{{name: {target}}}]
  workloads: [{{name: all, default: true, priority: {priority}}}]
"""


class Stage:
    """A session with its manifest file, its fakes' folder, and all that was said and shown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder / "manifest.yaml"
        self.lines: list[str] = []
        self.views: Sequence[ServiceView] = ()
        self.session = Session([self.manifest], self.settings(), self)

    def settings(self) -> Settings:
        return Settings(
            run_dir=self.folder / "run",
            steelyard=(sys.executable, str(FAKE)),
            port=0,
            admin_port=0,
            drain_s=60,
            stop_s=5,
            look_s=0.05,
            watch_s=0.05,
        )

    def say(self, text: str) -> None:
        self.lines.append(text)

    def show(self, services: Sequence[ServiceView]) -> None:
        self.views = services

    def write(
        self, *, name: str = "chat", replicas: int = 1, priority: int = 0, args: str = ""
    ) -> None:
        texts = (
            SERVICE.format(name=name, replicas=replicas, args=args),
            POLICY.format(target=name, priority=priority),
        )
        self.manifest.write_text("---".join(texts), encoding="utf-8")

    def heard(self, part: str) -> bool:
        return any(part in line for line in self.lines)

    def starts(self, what: str) -> list[int]:
        """Pids of all lives so far."""
        path = self.folder / "starts"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [life["pid"] for life in map(json.loads, lines) if life["argv"][0] == what]

    def living(self, what: str) -> list[int]:
        return [pid for pid in self.starts(what) if alive(pid)]

    def routed(self) -> list[str]:
        """Ids of the instances that the (fake) router sends to."""
        statuses = [view.status for view in self.views if view.status is not None]
        instances = [item for status in statuses for item in status.instances]
        return [item.id for item in instances if item.state == "ready"]

    def leases(self, **held: int) -> None:
        draft = self.folder / "leases.draft"
        draft.write_text(
            json.dumps({name.replace("_", "-"): count for name, count in held.items()}),
            encoding="utf-8",
        )
        draft.replace(self.folder / "leases.json")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("FAKE_STEELYARD_DIR", str(tmp_path))
    return Stage(tmp_path)


@contextlib.asynccontextmanager
async def running(stage: Stage) -> AsyncIterator[asyncio.Task[None]]:
    """The session runs inside; afterwards nothing that it started does."""
    task = asyncio.create_task(stage.session.run())
    try:
        yield task
    finally:
        stage.session.stop()
        async with asyncio.timeout(PATIENCE_S):
            await task
        assert stage.living("engine") == []
        assert stage.living("router") == []


async def test_engines_are_routed_to_once_they_answer_and_all_ends_in_order(stage: Stage) -> None:
    stage.write(replicas=2)

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0", "chat-1"])
        await until(lambda: stage.heard("chat is ready with 2 instances: http://127.0.0.1:"))

    ends = (stage.folder / "ends").read_text(encoding="utf-8").splitlines()
    assert ends == ["router SIGTERM", "engine SIGTERM", "engine SIGTERM"]


async def test_replicas_and_policies_change_without_touching_what_runs(stage: Stage) -> None:
    stage.write(replicas=1)

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0"])
        before = stage.living("engine") + stage.living("router")

        stage.write(replicas=2, priority=7)
        await until(lambda: stage.routed() == ["chat-0", "chat-1"])
        await until(lambda: stage.heard("the edited policy is in force"))

        assert set(before) < set(stage.living("engine") + stage.living("router"))
        assert len(stage.starts("engine")) == 2
        assert len(stage.starts("router")) == 1


async def test_an_engine_that_leaves_gets_nothing_new_and_ends_after_its_last_request(
    stage: Stage,
) -> None:
    stage.write(replicas=2)

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0", "chat-1"])
        stage.leases(chat_1=3)

        stage.write(replicas=1)
        await until(lambda: stage.routed() == ["chat-0"])
        await asyncio.sleep(0.5)
        assert len(stage.living("engine")) == 2
        assert stage.views[0].engines["chat-1"] == "draining"

        stage.leases()
        await until(lambda: len(stage.living("engine")) == 1)


async def test_an_edit_of_engine_arguments_replaces_engines_one_at_a_time(stage: Stage) -> None:
    stage.write(replicas=2)

    async with running(stage):
        await until(lambda: len(stage.routed()) == 2)
        old = stage.living("engine")

        stage.write(replicas=2, args="--fast")
        fewest = 2
        async with asyncio.timeout(PATIENCE_S):
            # what is routed is seen a moment late, so it alone may still speak of the old ones
            while (
                any(map(alive, old)) or len(stage.starts("engine")) < 4 or len(stage.routed()) < 2
            ):
                fewest = min(fewest, len(stage.living("engine")))
                await asyncio.sleep(0.02)

        assert fewest >= 1
        assert len(stage.starts("engine")) == 4


async def test_a_bad_edit_is_explained_and_changes_nothing(stage: Stage) -> None:
    stage.write(replicas=1)

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0"])

        stage.manifest.write_text("kind: LLMServic\n", encoding="utf-8")
        await until(lambda: stage.heard("this edit is not used"))
        assert stage.heard("did you mean `LLMService`?")
        assert stage.routed() == ["chat-0"]

        stage.write(replicas=2)
        await until(lambda: stage.routed() == ["chat-0", "chat-1"])
        assert len(stage.starts("router")) == 1


async def test_what_dies_is_started_again(stage: Stage) -> None:
    stage.write(replicas=1)

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0"])

        os.kill(stage.living("engine")[0], signal.SIGKILL)
        await until(lambda: len(stage.starts("engine")) == 2)
        await until(lambda: stage.routed() == ["chat-0"])
        assert stage.heard("chat-0 ended (signal 9); it is started again in")

        os.kill(stage.living("router")[0], signal.SIGKILL)
        await until(lambda: len(stage.starts("router")) == 2)
        await until(lambda: stage.routed() == ["chat-0"])


async def test_an_engine_that_cannot_start_shows_its_last_lines_and_is_tried_again(
    stage: Stage,
) -> None:
    (stage.folder / "chat.dies").touch()
    stage.write(replicas=1)

    async with running(stage):
        await until(lambda: len(stage.starts("engine")) >= 2)
        assert stage.heard("  | out of memory, says the fake")

        (stage.folder / "chat.dies").unlink()
        await until(lambda: stage.routed() == ["chat-0"])


async def test_a_service_that_is_renamed_ends_and_another_begins(stage: Stage) -> None:
    stage.write(name="chat")

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0"])

        stage.write(name="code")
        await until(lambda: stage.routed() == ["code-0"])
        await until(lambda: len(stage.living("router")) == 1)


async def test_alerts_are_said_as_they_fire_and_clear(stage: Stage) -> None:
    stage.write()
    alert = {"alert": "slow", "workload": "all", "metric": "Score", "value": 9, "threshold": 5}

    def state(name: str) -> None:
        draft = stage.folder / "alerts.draft"
        draft.write_text(json.dumps([{**alert, "state": name}]), encoding="utf-8")
        draft.replace(stage.folder / "alerts.json")

    async with running(stage):
        await until(lambda: stage.heard("chat is ready"))
        state("Firing")
        await until(lambda: stage.heard("ALERT FIRING chat/slow"))
        state("OK")
        await until(lambda: stage.heard("ALERT RESOLVED chat/slow"))


async def test_a_second_interrupt_does_not_wait(stage: Stage) -> None:
    stage.write()

    async with running(stage):
        await until(lambda: stage.routed() == ["chat-0"])
        engine = stage.living("engine")[0]
        os.kill(engine, signal.SIGSTOP)  # it will not hear SIGTERM

        stage.session.interrupt()
        await until(lambda: not stage.living("router"))
        assert alive(engine)
        stage.session.interrupt()
        await until(lambda: not alive(engine))


async def test_manifests_that_cannot_run_here_end_before_anything_starts(stage: Stage) -> None:
    stage.manifest.write_text("kind: x\n", encoding="utf-8")
    with pytest.raises(ManifestError, match="unknown kind"):
        await stage.session.run()

    stage.manifest.write_text(POLICY.format(target="chat", priority=0), encoding="utf-8")
    with pytest.raises(LocalError, match="nothing to serve"):
        await stage.session.run()


async def test_a_taken_port_is_said_before_anything_starts(stage: Stage) -> None:
    stage.write()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = Settings(
            run_dir=stage.folder, steelyard=stage.settings().steelyard, port=taken.getsockname()[1]
        )
        session = Session([stage.manifest], settings, stage)

        with pytest.raises(LocalError, match="--port"):
            await session.run()

    assert stage.starts("router") == []


# -- processes ------------------------------------------------------------------------------


async def shell(script: str, folder: Path) -> Child:
    return await Child.start(["sh", "-c", script], env={}, log=folder / "sh.log")


async def written(path: Path) -> int:
    def text() -> str:
        return path.read_text(encoding="utf-8") if path.exists() else ""

    await until(lambda: text().endswith("\n"))
    return int(text())


async def test_a_process_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    script = f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done"
    child = await shell(script, tmp_path)
    await written(tmp_path / "pid")

    await child.stop(0.2)

    assert await child.wait() == -signal.SIGKILL


async def test_what_a_process_leaves_behind_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_LEFTOVER_S", 0.2)
    child = await shell(f"(trap '' TERM; sleep 60) & echo $! > {tmp_path}/pid; wait", tmp_path)
    left = await written(tmp_path / "pid")

    await child.stop(5)

    await until(lambda: not alive(left))


async def test_a_command_that_is_not_there_says_so_in_its_log(tmp_path: Path) -> None:
    child = await Child.start(["/no/such"], env={}, log=tmp_path / "log")

    assert await child.wait() == 1
    assert "/no/such cannot be started" in (tmp_path / "log").read_text(encoding="utf-8")


async def test_the_log_of_the_last_life_is_kept(tmp_path: Path) -> None:
    for word in ("first", "second"):
        child = await shell(f"echo {word}", tmp_path)
        await child.wait()
        await child.stop(1)

    assert (tmp_path / "sh.log").read_text(encoding="utf-8") == "second\n"
    assert (tmp_path / "sh.log.1").read_text(encoding="utf-8") == "first\n"


async def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    program = f"""
import asyncio
from pathlib import Path
from steelyard_operator.local import admin, process
from steelyard_operator.local.process import Child
async def main():
    log = Path({str(tmp_path / "log")!r})
    child = await Child.start(["sleep", "60"], env={{}}, log=log)
    print(child.pid, flush=True)
    await child.wait()
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    await until(lambda: Path(f"/proc/{child}/comm").read_text(encoding="utf-8") == "sleep\n")

    parent.kill()
    await parent.communicate()

    await until(lambda: not alive(child))


# -- watching files -------------------------------------------------------------------------


async def test_every_way_to_edit_a_file_is_noticed_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1", encoding="utf-8")
    seen = edits([path], signature([path]), interval_s=0.02)

    def replace() -> None:
        draft = tmp_path / "draft"
        draft.write_text("3", encoding="utf-8")
        draft.replace(path)

    steps: list[Callable[[], object]] = [
        lambda: path.write_text("22", encoding="utf-8"),
        replace,
        path.unlink,
        lambda: path.write_text("4", encoding="utf-8"),
    ]
    for step in steps:
        step()
        async with asyncio.timeout(5):
            await anext(seen)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await anext(seen)


async def test_an_edit_between_reading_and_watching_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1", encoding="utf-8")
    since = signature([path])
    path.write_text("22", encoding="utf-8")

    async with asyncio.timeout(5):
        await anext(edits([path], since, interval_s=0.02))


# -- the whole thing ------------------------------------------------------------------------------


async def through(stream: asyncio.StreamReader, part: bytes) -> str:
    """Reads up to the first line with `part`, and gives that line."""
    while line := await stream.readline():
        if part in line:
            return line.decode()
    raise AssertionError("the stream ended")


def mentioning(part: str) -> list[str]:
    """Command lines of running processes."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            commands.append(path.read_text(encoding="utf-8").replace("\0", " "))
    return [command for command in commands if part in command]


async def test_the_command_serves_a_real_request_and_leaves_nothing_behind(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(SERVICE.format(name="chat", replicas=1, args="--speed=100"), "utf-8")
    up = await asyncio.create_subprocess_exec(
        *(*STEELYARD, "up", str(manifest), "--port", "0", "--admin-port", "0"),
        *("--run-dir", str(tmp_path / "run"), "--debug-decisions", "10"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert up.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        url, status = re.findall(r"http://[\d.:]+", await through(up.stdout, b"is ready"))
        async with aiohttp.ClientSession() as http:
            body = {"model": "chat", "prompt": "hello", "max_tokens": 2}
            async with http.post(f"{url}/v1/completions", json=body) as response:
                assert response.status == 200
                assert response.headers["x-steelyard-instance"] == "chat-0"
            (decision,) = await admin.decisions(http, status, 5) or ()
            assert decision.instance == "chat-0"
        up.send_signal(signal.SIGINT)
        await up.communicate()

    assert up.returncode == 0
    assert not mentioning(str(tmp_path))
