"""The load generator against a small OpenAI-compatible server on loopback."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from click.testing import CliRunner, Result

from steelyard.load import command
from steelyard_simulator.load.client import ChatClient, Target
from steelyard_simulator.load.errors import UnreachableError, WrongModelError
from steelyard_simulator.load.job import Job, run
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

FIRST_S = 0.03
TOKEN_S = 0.002
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"cat "},"finish_reason":null}]}\n\n'

Answer = Callable[[web.Request, dict[str, object]], Coroutine[None, None, web.StreamResponse]]


def usage(prompt: int, output: int, cached: int) -> bytes:
    body = {
        "choices": [],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
    return b"data: " + orjson.dumps(body) + b"\n\n"


@dataclass
class FakeServer:
    """Streams what it is asked for; `answer` may be replaced by a fault."""

    models: list[str] = field(default_factory=lambda: ["tiny"])
    bodies: list[dict[str, object]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answer: Answer | None = None
    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_get("/v1/models", self._list)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        self.bodies.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.asked.set()
        return await (self.answer or stream)(request, body)


async def stream(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
    response = await begin(request)
    tokens = body["max_tokens"]
    assert isinstance(tokens, int)
    await asyncio.sleep(FIRST_S)
    for _ in range(tokens):
        await response.write(TOKEN)
        await asyncio.sleep(TOKEN_S)
    prompt = len(str(body["messages"])) // 4
    await response.write(usage(prompt, tokens, prompt // 2) + b"data: [DONE]\n\n")
    return response


async def begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "x-steelyard-instance": "engine-0"}
    )
    await response.prepare(request)
    return response


async def break_off(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(TOKEN)
    assert request.transport is not None
    request.transport.abort()
    return response


async def end_early(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(TOKEN)
    return response


async def report_error(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(TOKEN + b'data: {"error": {"message": "cache lost"}}\n\ndata: [DONE]\n\n')
    return response


async def refuse(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
    return web.json_response({"error": {"message": "busy"}}, status=429)


async def hang(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
    response = await begin(request)
    await asyncio.sleep(60)
    return response


@pytest.fixture
async def fake() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    async with TestServer(fake.app()) as server:
        fake.url = str(server.make_url("/"))
        yield fake


def requests(count: int, *, output: int = 5) -> tuple[TraceRequest, ...]:
    return tuple(
        TraceRequest(at_s=0, input_tokens=100 + n, output_tokens=output, session="s")
        for n in range(count)
    )


async def measure(
    fake: FakeServer, count: int = 1, *, output: int = 5, read_timeout_s: float = 5.0
) -> list[Measurement]:
    done: list[Measurement] = []
    job = Job(
        target=Target(fake.url, headers={"x-extra": "1"}, api_key="secret"),
        requests=requests(count, output=output),
        block_tokens=512,
        read_timeout_s=read_timeout_s,
    )
    await run(job, done.append)
    return done


async def test_a_stream_is_timed_and_its_usage_read(fake: FakeServer) -> None:
    (measured,) = await measure(fake, output=50)

    assert (measured.error, measured.status, measured.instance) == (None, 200, "engine-0")
    assert measured.completion_tokens == 50
    assert measured.prompt_tokens is not None
    assert measured.cached_tokens == measured.prompt_tokens // 2
    assert measured.ttft_s is not None
    assert measured.tpot_s is not None
    assert measured.e2e_s is not None
    assert FIRST_S <= measured.ttft_s < FIRST_S + 50 * TOKEN_S
    assert measured.e2e_s >= FIRST_S + 50 * TOKEN_S
    assert measured.tpot_s == pytest.approx((measured.e2e_s - measured.ttft_s) / 49)


async def test_a_request_asks_for_exactly_its_output_and_says_who_it_is(fake: FakeServer) -> None:
    await measure(fake, output=3)

    (body,) = fake.bodies
    assert (body["model"], body["max_tokens"], body["ignore_eos"]) == ("tiny", 3, True)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    messages = body["messages"]
    assert isinstance(messages, list)
    assert len(messages[0]["content"]) == 400
    (headers,) = fake.headers
    assert headers["authorization"] == "Bearer secret"
    assert (headers["x-extra"], headers["x-session-id"]) == ("1", "s")


@pytest.mark.parametrize(
    ("answer", "error", "status"),
    [
        (break_off, "connection: ", 200),
        (end_early, "the stream broke off before [DONE]", 200),
        (report_error, "in-stream: cache lost", 200),
        (refuse, "http 429: busy", 429),
        (hang, "timeout: ", 200),
    ],
)
async def test_a_failed_request_is_counted_with_its_reason(
    fake: FakeServer, answer: Answer, error: str, status: int
) -> None:
    fake.answer = answer

    (measured,) = await measure(fake, read_timeout_s=0.2)

    assert measured.error is not None
    assert measured.error.startswith(error)
    assert measured.status == status
    assert measured.ttft_s is None


async def test_an_address_where_nobody_listens_is_named() -> None:
    url = f"http://127.0.0.1:{unused_port()}"

    with pytest.raises(UnreachableError, match=url):
        async with ChatClient.connect(Target(url)):
            pass


async def test_a_server_without_an_openai_interface_is_told_apart(fake: FakeServer) -> None:
    async with TestServer(web.Application()) as other:
        with pytest.raises(WrongModelError, match="--model"):
            async with ChatClient.connect(Target(str(other.make_url("/")))):
                pass


@pytest.mark.parametrize(
    ("served", "wanted", "message"),
    [
        (["a", "b"], None, "name one of the served models with --model: a, b"),
        (["a", "b"], "c", "does not serve 'c'. It serves: a, b"),
        ([], "c", "It serves: nothing"),
    ],
)
async def test_a_wrong_model_is_refused_with_what_is_served(
    fake: FakeServer, served: list[str], wanted: str | None, message: str
) -> None:
    fake.models = served

    with pytest.raises(WrongModelError, match=message):
        async with ChatClient.connect(Target(fake.url, wanted)):
            pass


def trace_file(tmp_path: Path, *times_ms: int) -> Path:
    path = tmp_path / "trace.jsonl"
    lines = (
        {"timestamp": t, "input_length": 600, "output_length": 4, "hash_ids": [0, n + 1]}
        for n, t in enumerate(times_ms)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


async def invoke(*arguments: object) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, command, [str(a) for a in arguments])


async def test_the_command_prints_a_table_and_writes_both_files(
    fake: FakeServer, tmp_path: Path
) -> None:
    trace = trace_file(tmp_path, 0, 100, 200)
    summary, lines = tmp_path / "new" / "summary.json", tmp_path / "requests.jsonl"

    result = await invoke(
        *("--trace", trace, "--url", fake.url + "v1", "--speed", 10, "--time-scale", 10),
        *("--slo-ttft-ms", 60_000, "--json", summary, "--out", lines),
    )

    assert result.exit_code == 0, result.output
    assert "latencies in model time (wall time x 10)" in result.output
    assert "errors 0" in result.output
    assert "100.0 %" in result.output
    shape = json.loads(summary.read_text())
    assert (shape["requests"], shape["errors"]) == (3, 0)
    assert shape["hit_ratio"] == pytest.approx(0.5, abs=0.01)
    assert shape["ttft_ms"]["mean"] >= 10 * 1000 * FIRST_S
    assert len(lines.read_text().splitlines()) == 3


async def test_two_prompts_of_a_trace_share_the_text_of_their_first_block(
    fake: FakeServer, tmp_path: Path
) -> None:
    await invoke("--no-spread", "--trace", trace_file(tmp_path, 0, 1), "--url", fake.url)

    one, other = (str(body["messages"]) for body in fake.bodies)
    content = one.index("content")
    assert one[: content + 2048] == other[: content + 2048]
    assert one[: content + 2100] != other[: content + 2100]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--header", "no colon"), "is not NAME:VALUE"),
        (("--start", 99), "no request lies within the window"),
        (("--model", "other"), "It serves: tiny"),
    ],
)
async def test_bad_arguments_are_refused_in_words(
    fake: FakeServer, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    result = await invoke("--trace", trace_file(tmp_path, 0), "--url", fake.url, *arguments)

    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


async def test_a_replay_in_which_everything_failed_ends_with_an_error_status(
    fake: FakeServer, tmp_path: Path
) -> None:
    fake.answer = refuse

    result = await invoke("--no-spread", "--trace", trace_file(tmp_path, 0, 1), "--url", fake.url)

    assert result.exit_code == 1
    assert "2 x http 429: busy" in result.output


async def test_an_interrupt_prints_what_was_measured_so_far(
    fake: FakeServer, tmp_path: Path
) -> None:
    trace = trace_file(tmp_path, 0, 600_000)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from steelyard.main import main; main()"),
        *("load", "--trace", trace, "--url", fake.url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(20):
        await fake.asked.wait()
        await asyncio.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = await process.communicate()

    assert process.returncode == 130, output.decode()
    assert "stopped: 1 of 2 requests were measured" in output.decode()
    assert "TTFT" in output.decode()
