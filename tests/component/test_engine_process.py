"""`steelyard engine` as a process: how it starts, and how signals end it."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

START_S = 20.0
BODY = {"prompt": "hello", "max_tokens": 100, "stream": True}


@asynccontextmanager
async def started(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from steelyard.main import main; main()",
        "engine",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        async with asyncio.timeout(START_S):
            await process.communicate()


async def url_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(START_S):
        return (await process.stdout.readline()).decode().strip()


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    async with asyncio.timeout(START_S):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


async def test_it_prints_its_url_and_a_signal_lets_streams_finish() -> None:
    async with started("--model", "tiny", "--speed", "2") as process:
        url = await url_of(process)
        async with (
            aiohttp.ClientSession(url) as client,
            client.post("/v1/completions", json=BODY) as response,
        ):
            await response.content.readany()
            process.send_signal(signal.SIGTERM)
            assert (await response.read()).endswith(b"data: [DONE]\n\n")

        assert await ended(process) == (0, "")


async def test_an_abrupt_one_breaks_streams_off() -> None:
    async with started("--abrupt") as process:
        url = await url_of(process)
        async with (
            aiohttp.ClientSession(url) as client,
            client.post("/v1/completions", json={**BODY, "max_tokens": 10_000}) as response,
        ):
            await response.content.readany()
            process.send_signal(signal.SIGINT)
            with pytest.raises(aiohttp.ClientError):
                await response.read()

        assert await ended(process) == (0, "")


async def test_the_options_set_the_sizes() -> None:
    sizes = ("--kv-tokens", "4096", "--block-tokens", "32", "--profile", "reference")
    async with started(*sizes) as process:
        url = await url_of(process)
        async with aiohttp.ClientSession(url) as client, client.get("/metrics") as response:
            text = await response.text()

    assert 'block_size="32"' in text
    assert 'kv_cache_size_tokens="4096"' in text


async def test_a_taken_port_is_said_in_one_line() -> None:
    async with started() as first:
        port = (await url_of(first)).rsplit(":", 1)[1]
        async with started("--port", port) as second:
            code, errors = await ended(second)

    assert code == 1
    assert errors.startswith(f"Error: cannot listen on 127.0.0.1:{port}")


async def test_sizes_that_cannot_work_are_a_usage_error() -> None:
    async with started("--kv-tokens", "8") as process:
        code, errors = await ended(process)

    assert code == 2
    assert "at least one block" in errors
