"""Several routers before the same engines under the same load, in turn, several times."""

import asyncio
import io
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rig.conversation import Shape, write_trace
from rig.engine import Engine
from rig.stack import BLOCK_TOKENS, SERVICE
from steelyard.up import STEELYARD

RUN_S = 120.0


@dataclass(frozen=True)
class Run:
    """One replay, as `steelyard load` measured it."""

    router: str
    round: int
    requests: int
    errors: int
    hit_ratio: float
    ttft_mean_ms: float
    ttft_p50_ms: float
    ttft_p99_ms: float
    tpot_mean_ms: float
    busiest: float
    """Share of the requests that the engine with the most of them got."""
    duration_s: float


@dataclass(frozen=True)
class Figures:
    """Medians over the rounds; errors summed up."""

    router: str
    errors: int
    hit_ratio: float
    ttft_mean_ms: float
    ttft_p50_ms: float
    ttft_p99_ms: float
    tpot_mean_ms: float
    busiest: float


async def compare(
    urls: Mapping[str, str],
    engines: Sequence[Engine],
    shape: Shape,
    *,
    rounds: int,
    folder: Path,
) -> list[Run]:
    """Rounds with prompts of their own, routers in turn, each on engines with empty caches."""
    trace = folder / "sessions.jsonl"
    write_trace(trace, shape)
    order = list(urls)
    runs = []
    for number in range(rounds):
        for router in order[number % len(order) :] + order[: number % len(order)]:
            for engine in engines:
                engine.forget()
            before = _served(engines)
            report = await _replay(trace, urls[router], shape, seed=number, folder=folder)
            counts = [now - was for now, was in zip(_served(engines), before, strict=True)]
            runs.append(_run(router, number, report, busiest=max(counts) / sum(counts)))
    return runs


def _served(engines: Sequence[Engine]) -> list[float]:
    return [engine.metric("vllm:request_success_total") for engine in engines]


async def _replay(
    trace: Path, url: str, shape: Shape, *, seed: int, folder: Path
) -> dict[str, Any]:
    summary = folder / "load.json"
    command = [
        *(*STEELYARD, "load", "--trace", str(trace), "--url", url, "--model", SERVICE),
        *("--block-size", str(BLOCK_TOKENS), "--seed", str(seed)),
        *("--think-time", "--sessions", str(shape.side_by_side), "--json", str(summary)),
    ]
    with (folder / "load.log").open("ab") as log:
        load = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        try:
            async with asyncio.timeout(RUN_S):
                code = await load.wait()
        except TimeoutError:
            load.kill()
            code = await load.wait()
    assert code == 0, f"`steelyard load` ended with {code}; see {folder / 'load.log'}"
    report: dict[str, Any] = json.loads(summary.read_bytes())
    return report


def _run(router: str, number: int, report: Mapping[str, Any], *, busiest: float) -> Run:
    ttft = report["ttft_ms"]
    return Run(
        router=router,
        round=number,
        requests=report["requests"],
        errors=report["errors"],
        hit_ratio=report["hit_ratio"],
        ttft_mean_ms=ttft["mean"],
        ttft_p50_ms=ttft["p50"],
        ttft_p99_ms=ttft["p99"],
        tpot_mean_ms=report["tpot_ms"]["mean"],
        busiest=busiest,
        duration_s=report["duration_s"],
    )


def figures(runs: Sequence[Run]) -> Iterator[Figures]:
    for router in dict.fromkeys(run.router for run in runs):
        own = [run for run in runs if run.router == router]
        yield Figures(
            router=router,
            errors=sum(run.errors for run in own),
            hit_ratio=statistics.median(run.hit_ratio for run in own),
            ttft_mean_ms=statistics.median(run.ttft_mean_ms for run in own),
            ttft_p50_ms=statistics.median(run.ttft_p50_ms for run in own),
            ttft_p99_ms=statistics.median(run.ttft_p99_ms for run in own),
            tpot_mean_ms=statistics.median(run.tpot_mean_ms for run in own),
            busiest=statistics.median(run.busiest for run in own),
        )


def table(found: Sequence[Figures]) -> str:
    """Engines share the cores of this machine, so latencies say less than they would elsewhere."""
    drawn = Table(
        "router", "hit ratio", "TTFT mean, ms", "p50", "p99", "TPOT mean, ms", "busiest", "errors"
    )
    for column in drawn.columns[1:]:
        column.justify = "right"
    for row in found:
        ttft = (row.ttft_mean_ms, row.ttft_p50_ms, row.ttft_p99_ms)
        drawn.add_row(
            row.router,
            f"{row.hit_ratio:.3f}",
            *(f"{value:.0f}" for value in ttft),
            f"{row.tpot_mean_ms:.1f}",
            f"{row.busiest:.0%}",
            str(row.errors),
        )
    text = io.StringIO()
    Console(file=text, width=100).print(drawn)
    return text.getvalue()


def write(path: Path, shape: Shape, runs: Sequence[Run]) -> None:
    document = {
        "load": asdict(shape),
        "routers": [asdict(row) for row in figures(runs)],
        "runs": [asdict(run) for run in runs],
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
