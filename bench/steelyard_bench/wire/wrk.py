"""Load by wrk, which can drive any of the routers harder than a client in Python could."""

import asyncio
import contextlib
import json
import re
import shutil
from pathlib import Path

from steelyard_bench.wire.cell import Cell
from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.load import Load
from steelyard_bench.wire.meter import Meter

MARK = "steelyard "
GRACE_S = 15.0
SCRIPT = """\
local bodies, turn = {}, 0
function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  for line in io.lines(args[1]) do
    bodies[#bodies + 1] = wrk.format(nil, nil, nil, line)
  end
end
function request()
  turn = turn % #bodies + 1
  return bodies[turn]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'steelyard {"us": %d, "requests": %d, "p50_us": %d, "p99_us": %d, "errors": %d}\\n',
    summary.duration, summary.requests, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""
"""Requests are formatted once. JSON has no line breaks, so the bodies file holds one a line."""


def find() -> str:
    """Where wrk is. Raises WireError."""
    if found := shutil.which("wrk"):
        return found
    raise WireError("wrk is not installed; it makes the load: apt-get install wrk")


async def version(wrk: str) -> str:
    process = await asyncio.create_subprocess_exec(
        wrk, "-v", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    found = re.match(rb"wrk (\S+)", output)
    return found[1].decode() if found else "unknown"


class Wrk:
    """Drives cells that are not paced. Files go into `folder`."""

    def __init__(self, wrk: str, folder: Path) -> None:
        self._wrk = wrk
        self._folder = folder
        self._script = folder / "wrk.lua"
        self._script.write_text(SCRIPT, encoding="utf-8")

    def _bodies(self, cell: Cell) -> Path:
        path = self._folder / f"{cell.name}.jsonl"
        if not path.exists():
            path.write_bytes(b"".join(request.body + b"\n" for request in cell.requests()))
        return path

    async def drive(self, cell: Cell, url: str, seconds: int, meter: Meter) -> Load:
        """Meters the router for as long as wrk runs. Raises WireError when wrk does not report."""
        meter.start()
        process = await asyncio.create_subprocess_exec(
            *(self._wrk, "--threads", "1", "--connections", str(cell.connections)),
            *("--duration", f"{seconds}s", "--script", str(self._script), url),
            *("--", str(self._bodies(cell))),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(seconds + GRACE_S):
                output, _ = await process.communicate()
            meter.stop()
        except TimeoutError as error:
            raise WireError(f"wrk did not end: {url}") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return _load(cell, output.decode(errors="replace"))


def _load(cell: Cell, output: str) -> Load:
    _, found, line = output.partition(MARK)
    if not found:
        raise WireError(f"wrk did not report:\n{output}")
    told = json.loads(line.splitlines()[0])
    return Load(
        seconds=told["us"] / 1e6,
        requests=told["requests"],
        chunks=told["requests"] * cell.tokens[0] if cell.streams else 0,
        p50_ms=told["p50_us"] / 1e3,
        p99_ms=told["p99_us"] / 1e3,
        errors=told["errors"],
    )
