"""`steelyard explain`: says why the router's last decisions fell as they did."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import click
from pydantic import ValidationError
from rich.table import Table

from steelyard.parameter import FilePath
from steelyard.terminal import figure_table, make_console
from steelyard_operator.local import admin
from steelyard_operator.local.admin import Candidate, Decision

LEGEND = (
    "Q: uncached prompt tokens queued there · P: uncached prompt tokens of this request · "
    "B: requests there · C: context tokens there · the lowest cost wins"
)
OFF = (
    "the router at {url} keeps no decisions: start it with `steelyard up --debug-decisions 1000`, "
    "or set `debug: {{decisions: 1000}}` in its configuration file, which needs no restart"
)


@click.command(name="explain")
@click.option(
    "--url", default="http://127.0.0.1:9090", show_default=True, help="The router's admin address."
)
@click.option(
    "-n", "count", type=click.IntRange(1, 99_999), default=5, show_default=True, help="How many."
)
@click.option("--json", "json_path", type=FilePath, help="Write JSON here too.")
def command(*, url: str, count: int, json_path: Path | None) -> None:
    """Print the router's last decisions, oldest first, with every instance that was weighed."""
    found = asyncio.run(_fetch(url.rstrip("/"), count))
    console = make_console()
    if not found:
        console.print("no decision yet: send a request first")
    for decision in reversed(found):
        console.print(title(decision), markup=False)
        console.print(table(decision))
    if found:
        console.print(LEGEND)
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
        content = {"decisions": [decision.model_dump(mode="json") for decision in found]}
        json_path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


async def _fetch(url: str, count: int) -> Sequence[Decision]:
    try:
        async with aiohttp.ClientSession() as http:
            found = await admin.decisions(http, url, count)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise click.ClickException(
            f"no router answers at {url} ({str(error) or 'timed out'}); "
            "give its admin address with --url"
        ) from error
    except ValidationError as error:
        raise click.ClickException(f"{url} is not the admin address of a router") from error
    if found is None:
        raise click.ClickException(OFF.format(url=url))
    return found[:count]


def title(decision: Decision) -> str:
    parts = (
        f"{decision.time or ''} {decision.request_id}".strip(),
        f"workload {decision.workload}",
        decision.strategy,
        f"{decision.prompt_tokens:,} prompt tokens",
        f"score {decision.score:,.0f}",
    )
    return " · ".join(parts)


def table(decision: Decision) -> Table:
    """One decision: candidates by cost, the chosen one marked."""
    grid = figure_table("Instance", "Q", "P", "B", "C", "Cost")
    for candidate in sorted(decision.candidates, key=lambda item: item.cost):
        chosen = candidate.instance == decision.instance
        grid.add_row(*_row(candidate, chosen=chosen), style="bold" if chosen else None)
    return grid


def _row(candidate: Candidate, *, chosen: bool) -> tuple[str, ...]:
    loads = (candidate.q, candidate.p, candidate.b, candidate.c, candidate.cost)
    name = f"{candidate.instance} <- chosen" if chosen else candidate.instance
    return name, *(f"{load:,.0f}" for load in loads)
