"""Sends one request at a time to an OpenAI-compatible server and times its reply.

The stream is not awaited chunk by chunk: after the first one the connection collects what arrives,
the time of the end is taken by a callback of the stream, and the bytes are looked at every
`TICK_S`. That keeps one process fast enough for ten thousand tokens a second beside the servers it
measures.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import aiohttp
import orjson

from steelyard_simulator.load.errors import UnreachableError, WrongModelError
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.stream import Ending, StreamScan

TICK_S = 0.1
BUFFER_BYTES = 1 << 20
"""More than any stream brings in one tick, so that the connection never stops reading."""
CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 600.0
ERROR_BYTES = 4096
INSTANCE_HEADER = "x-steelyard-instance"


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. `url` with or without /v1."""

    url: str
    model: str | None = None
    headers: Mapping[str, str] | None = None
    api_key: str | None = None

    @property
    def base(self) -> str:
        return self.url.rstrip("/").removesuffix("/v1")


@dataclass(frozen=True, slots=True)
class Call:
    """One chat completion to send; `planned_s` counts from the start of the replay."""

    prompt: bytes
    input_tokens: int
    output_tokens: int
    planned_s: float
    session: str | None = None


class ChatClient:
    """Open it with `ChatClient.connect`; safe to use from many tasks of one loop."""

    def __init__(self, http: aiohttp.ClientSession, base: str, model: str) -> None:
        self.model = model
        self._http = http
        self._url = f"{base}/v1/chat/completions"

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, target: Target, *, read_timeout_s: float = READ_TIMEOUT_S
    ) -> AsyncIterator["ChatClient"]:
        """Checks that the server answers and serves the model before anything is replayed.

        Raises UnreachableError, WrongModelError.
        """
        headers = dict(target.headers or {})
        if target.api_key:
            headers["Authorization"] = f"Bearer {target.api_key}"
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=read_timeout_s
        )
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=headers,
            timeout=timeout,
            read_bufsize=BUFFER_BYTES,
            auto_decompress=False,
        ) as http:
            served = await _served_models(http, target.base)
            yield cls(http, target.base, _pick_model(target.model, served, target.base))

    async def send(self, call: Call, *, origin_s: float) -> Measurement:
        """The reply's measurement; whatever goes wrong is in its `error`, nothing is raised.

        `origin_s` is when the replay began, on the monotonic clock.
        """
        body = self._body(call)
        sent_s = time.monotonic()
        blank = Measurement(
            at_s=sent_s - origin_s,
            lag_s=max(0.0, sent_s - origin_s - call.planned_s),
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            session=call.session,
        )
        headers = {"Content-Type": "application/json"}
        if call.session is not None:
            headers["x-session-id"] = call.session
        try:
            async with self._http.post(self._url, data=body, headers=headers) as response:
                blank = replace(
                    blank, status=response.status, instance=response.headers.get(INSTANCE_HEADER)
                )
                if response.status != 200:
                    return replace(blank, error=await _refusal(response))
                return await _follow(response, blank, sent_s)
        except aiohttp.ConnectionTimeoutError:
            return replace(blank, error="timeout: no connection")
        except TimeoutError:
            return replace(blank, error="timeout: no byte within the read timeout")
        except (aiohttp.ClientError, OSError) as exc:
            return replace(blank, error=f"connection: {type(exc).__name__}")

    def _body(self, call: Call) -> bytes:
        return orjson.dumps(
            {
                "model": self.model,
                "messages": [{"role": "user", "content": call.prompt.decode("ascii")}],
                "max_tokens": call.output_tokens,
                "ignore_eos": True,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        )


async def _follow(
    response: aiohttp.ClientResponse, blank: Measurement, sent_s: float
) -> Measurement:
    """Reads the stream to its end."""
    scan = StreamScan()
    content = response.content
    scan.feed(await content.readany())
    first_s = end_s = time.monotonic()

    def ended() -> None:
        nonlocal end_s
        end_s = time.monotonic()

    content.on_eof(ended)
    while not content.at_eof():
        if not content.is_eof():
            await asyncio.sleep(TICK_S)
        scan.feed(content.read_nowait(-1))
    ending = scan.ending()
    if ending.error is not None:
        return replace(blank, error=ending.error)
    return _timed(blank, ending, scan, ttft_s=first_s - sent_s, e2e_s=end_s - sent_s)


def _timed(
    blank: Measurement, ending: Ending, scan: StreamScan, *, ttft_s: float, e2e_s: float
) -> Measurement:
    # Without usage: the events less the opening one and [DONE]; one may hold several tokens.
    tokens = ending.output_tokens or max(1, scan.events - 2)
    return replace(
        blank,
        prompt_tokens=ending.prompt_tokens,
        completion_tokens=tokens,
        cached_tokens=ending.cached_tokens,
        ttft_s=ttft_s,
        tpot_s=(e2e_s - ttft_s) / (tokens - 1) if tokens > 1 else None,
        e2e_s=e2e_s,
    )


async def _refusal(response: aiohttp.ClientResponse) -> str:
    body = await response.content.read(ERROR_BYTES)
    try:
        value = orjson.loads(body)
        message = value["error"]["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = response.reason
    return f"http {response.status}: {message}"


async def _served_models(http: aiohttp.ClientSession, base: str) -> list[str] | None:
    """Ids at /v1/models; None: the server has no such endpoint."""
    url = f"{base}/v1/models"
    try:
        async with http.get(
            url, timeout=aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S)
        ) as response:
            if response.status == 404:
                return None
            if response.status != 200:
                raise UnreachableError(f"GET {url} was refused: {await _refusal(response)}")
            data = orjson.loads(await response.read())
            return [str(model["id"]) for model in data["data"]]
    except (aiohttp.ClientError, OSError) as exc:
        reason = str(exc) or type(exc).__name__
        raise UnreachableError(
            f"nobody answers at {base}: {reason}. Is the server running?"
        ) from exc
    except (orjson.JSONDecodeError, KeyError, TypeError) as exc:
        raise UnreachableError(
            f"GET {url} did not answer like an OpenAI-compatible server"
        ) from exc


def _pick_model(wanted: str | None, served: Sequence[str] | None, base: str) -> str:
    if served is None:
        if wanted is None:
            raise WrongModelError(f"{base} does not list its models: name one with --model")
        return wanted
    listing = ", ".join(served) or "nothing"
    if wanted is None and len(served) == 1:
        return served[0]
    if wanted is None:
        raise WrongModelError(f"name one of the served models with --model: {listing}")
    if wanted not in served:
        raise WrongModelError(f"{base} does not serve {wanted!r}. It serves: {listing}")
    return wanted
