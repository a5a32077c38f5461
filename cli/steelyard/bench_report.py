"""What the benches have in common: options, and the JSON of those that time our own code."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.load import write_json
from steelyard.parameter import FilePath, FolderPath
from steelyard_bench.wire.machine import machine

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

json_option = click.option("--json", "json_path", type=FilePath, metavar="FILE")
quick_option = click.option(
    "--quick", is_flag=True, help="Small sizes: shows that it runs, measures nothing."
)

engine_option = click.option(
    "--engine",
    type=FolderPath,
    default=Path("build/engine"),
    show_default=True,
    help="Where the real engine is installed.",
)


def write_report(path: Path | None, report: "DataclassInstance", *, quick: bool) -> None:
    """With the machine that it was measured on."""
    if path is not None:
        write_json(path, {"quick": quick, "machine": machine()} | asdict(report))
